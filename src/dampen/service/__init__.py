"""`dampen serve`: data sets and budgets stay with the curator, analysts ask over HTTP.

    configuration   what `dampen.toml` says: data sets, their public facts, settings
                    and where rows are: files, PostgreSQL, Spark
    questions       from what an analyst asks to a question, by its declaration;
                    the bodies of requests, from the same declarations
    workflow        one question from a caller to an answer
    cache           histograms of public cells, kept between questions;
                    how a question is answered on a public sample
    catalogue       what callers are shown: data sets, budgets, releases, activity;
                    what was released, from the ledger
    tokens          tokens and incidents
    middleware      what every request passes: host, origin, size, depth, headers, log;
                    when answers leave, and how often one may ask
    app             all of it over HTTP; starting and stopping
    curator         what curators may do besides: budgets, tokens, new data sets, the audit log
    agents          the service for language-model agents, as tools

Nothing outside this package imports FastAPI.
"""
