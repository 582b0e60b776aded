"""From a question to a paid answer: cost, accuracy, charge, look, release."""
