"""How data sets are called in print."""

_KNOWN = {
    "github": "GitHub",
    "adult": "Adult",
    "adult-all": "Adult, 48842",
    "enron": "Enron",
    "karate": "karate club (bundled)",
    "miserables": "Les Misérables (bundled)",
    "cancer": "breast cancer (bundled)",
    "steep": "steep (made up)",
    "even": "even (made up)",
}


def printed(name: str) -> str:
    """The name as people write it.

    >>> printed("github"), printed("dblp")
    ('GitHub', 'DBLP')
    """
    if name.startswith("lognormal-"):
        return name.replace("-", ", ")
    return _KNOWN.get(name, name.upper())
