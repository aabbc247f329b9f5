/**
 * Names of all parts of the schema: tables, views, indexes, sequences, constraints, triggers and functions. A migration stores them. A
 * restore that was interrupted, or went on after an error, leaves out some, such as the index that keeps a number from being
 * given twice.
 */
const ours = "(select oid from pg_namespace where nspname = current_schema())";
const present = `select relname::text as name from pg_class where relnamespace = ${ours}
  union select conname::text from pg_constraint where connamespace = ${ours} and contype <> 'n'
  union select tgname::text from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = ${ours} and not tgisinternal
  union select proname::text from pg_proc where pronamespace = ${ours}`;

/** The parts of the schema as it is, as JSON. */
export const partsSql = `(select json_agg(name order by name)::text from (${present}) as present)`;

/** Reads the parts that the last migration wrote down and that are not there, by name; no row where it is not known. */
export const missingPartsText = `select array(
    select name from json_array_elements_text(parts::json) as given (name) where name not in (${present}) order by name) as missing
  from schema_versions where parts is not null order by version desc limit 1`;

/** A row of {@link missingPartsText}. */
export interface MissingPartsRow {
  readonly missing: readonly string[];
}
