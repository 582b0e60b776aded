"""How data sets are called in print."""

_KNOWN = {
    "github": "GitHub",
    "adult": "Adult",
    "adult-all": "Adult, 48842",
    "enron": "Enron",
    "ca-astroph": "ca-AstroPh",
    "ca-hepth": "ca-HepTh",
    "ego-facebook": "ego-Facebook",
    "facebook-artist": "Facebook artists",
    "dblp-2010": "DBLP 2010",
    "brightkite": "Brightkite",
    "facebook-pages": "Facebook pages",
    "slashdot": "Slashdot",
    "wiki-vote": "wiki-Vote",
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
