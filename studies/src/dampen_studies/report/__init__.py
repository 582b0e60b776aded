"""What is shown: panels, one page, tables for the documentation."""
