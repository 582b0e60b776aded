"""What roles that only charge may do on PostgreSQL: two functions, and no direct write.

The functions run with the rights of the owner of the tables, the curator's role.  `dampen_append`
accepts charges, refusals and answers that follow the head, with the right digests, and nothing that
would make the log unreadable; acts of a curator need the owner's role.
"""

__all__ = ["FUNCTIONS"]

# {schema} is the schema of the tables; pg_temp comes last, so that no temporary table is mistaken
# for one of them.
FUNCTIONS = r"""
CREATE OR REPLACE FUNCTION dampen_lock() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_catalog, pg_temp AS $$
BEGIN
  PERFORM 1 FROM dampen_head FOR UPDATE;
END $$;

CREATE OR REPLACE FUNCTION dampen_append(
  seqs bigint[], kinds text[], budgets text[], contents text[], digests text[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_catalog, pg_temp AS $$
DECLARE
  amount CONSTANT text := '^(?=.*[1-9])[0-9]{{1,200}}(\.[0-9]{{1,200}})?(/0*[1-9][0-9]{{0,200}})?$';
  last bigint;
  before text;
  said json;
  paid text;
BEGIN
  SELECT seq, digest INTO last, before FROM dampen_head FOR UPDATE;
  FOR i IN 1 .. coalesce(array_length(seqs, 1), 0) LOOP
    IF kinds[i] IS NULL OR kinds[i] NOT IN ('charge', 'refusal', 'answer') THEN
      RAISE insufficient_privilege USING MESSAGE = 'this role may only charge';
    END IF;
    IF seqs[i] IS DISTINCT FROM last + 1 OR digests[i] IS DISTINCT FROM encode(sha256(convert_to(
      concat_ws(E'\n', before, seqs[i], kinds[i], budgets[i], contents[i]), 'UTF8')), 'hex')
    THEN
      RAISE check_violation USING MESSAGE = 'the entry does not follow the head';
    END IF;
    said := contents[i]::json;
    IF kinds[i] = 'answer' THEN
      paid := said ->> 'charge';
      IF budgets[i] <> '' OR said ->> 'answer' IS NULL
        OR contents[i] NOT LIKE '{{"charge":"' || paid || '","answer":"%'
        OR NOT EXISTS (
          SELECT 1 FROM dampen_entry WHERE kind = 'charge' AND seq || '-' || left(digest, 16) = paid
            AND seq = substring(paid FROM '^[0-9]{{1,18}}')::bigint)
        OR EXISTS (
          SELECT 1 FROM dampen_entry WHERE kind = 'answer'
            AND split_part(substr(content, 12, 20), '-', 1) = split_part(paid, '-', 1))
      THEN
        RAISE check_violation USING MESSAGE = 'not the one answer to a charge';
      END IF;
    ELSIF NOT coalesce(
      EXISTS (SELECT 1 FROM dampen_entry WHERE kind = 'create' AND budget = budgets[i])
      AND said ->> 'rho' ~ amount AND (said ->> 'epsilon' = '' OR said ->> 'epsilon' ~ amount)
      AND json_typeof(said -> 'epsilon') = 'string' AND json_typeof(said -> 'rho') = 'string'
      AND said ->> 'neighbours' IN (
        'replace-one', 'add-remove-row', 'add-remove-edge', 'add-remove-unit')
      AND json_typeof(said -> 'analyst') = 'string' AND json_typeof(said -> 'query') = 'string'
      AND json_typeof(said -> 'mechanism') = 'string' AND json_typeof(said -> 'dataset') = 'string'
      AND json_typeof(said -> 'version') = 'string' AND json_typeof(said -> 'leaks') = 'array'
      AND (said ->> 'time')::timestamptz IS NOT NULL
      AND coalesce(said ->> 'repeats', '0') ~ '^[0-9]{{1,15}}$', false)
    THEN
      RAISE check_violation USING MESSAGE = 'not a charge';
    END IF;
    INSERT INTO dampen_entry VALUES (seqs[i], kinds[i], budgets[i], contents[i], digests[i]);
    last := seqs[i];
    before := digests[i];
  END LOOP;
  UPDATE dampen_head SET seq = last, digest = before;
END $$;

REVOKE ALL ON FUNCTION dampen_lock() FROM PUBLIC;
REVOKE ALL ON FUNCTION dampen_append(bigint[], text[], text[], text[], text[]) FROM PUBLIC;
"""
