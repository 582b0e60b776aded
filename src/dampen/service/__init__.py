"""`dampen serve`: data sets and budgets stay with the curator, analysts ask over HTTP.

    configuration   what `dampen.toml` says: data sets, their public facts, settings
    sources         where rows are: files, PostgreSQL, Spark
    questions       what may be asked, as calls of the library with public facts as parameters
    purse           which budget pays, and what a question would cost
    memory          histograms of public cells, kept between questions
    history         what was released, from the ledger
    stages          a question on its way: what is known at each stage of it
    desk            questions from callers to answers
    asking          questions on their way: shared, charged together, paced, finished
    expectations    what to expect of an answer, from public facts
    store           tokens and incidents
    guard           what every request passes: host, origin, size, rate
    door            the short way of a question that is well put
    api             the desk over HTTP
    running         starting and stopping

Nothing outside this package imports FastAPI.
"""
