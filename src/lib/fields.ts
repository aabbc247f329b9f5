/**
 * The fields of managed things. A field is declared once, with its form in JSON and its column; bodies of requests, answers, entries
 * of the configuration document, flags of commands and audit entries follow from it.
 */
import { type Static, type TObject, type TOptional, type TRequired, type TSchema, Type } from "@sinclair/typebox";
import { formatUsd, GatewayError, optional, parseUsd, quoteValue } from "../contract/index.ts";

export const Usd = Type.String({ minLength: 1, maxLength: 30, description: "US dollars, exact decimal text" });

/** A limit of requests, tokens or calls. */
export const Limit = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export interface Field<Row> {
  /** Its form in the body that makes the thing. One that may be absent may be `null` too. */
  readonly schema: TSchema;
  readonly column: keyof Row & string;
  /** Whether it can be changed; absent: it says what the thing is. */
  readonly changes?: true;
  /** Converts between JSON and the column; absent: they are the same. */
  readonly unit?: Unit;
  /**
   * Name of the field in OpenAI's API, which the management API uses too; absent: the field keeps its own name there.
   */
  readonly apiName?: string;
  /** The flag of commands; absent: its name. */
  readonly flag?: string;
  /** Answers do not have it, such as a secret; its flag reads standard input for `-`. */
  readonly isWriteOnly?: true;
  /** How the form of the dashboard shows it; absent: by its name and the description of its schema. */
  readonly form?: FieldForm;
}

/** The words of a field in forms of the dashboard. Its schema says the rest. */
export interface FieldForm {
  readonly label?: string;
  readonly hint?: string;
  /** Shown in an empty field: what that means, or an example. */
  readonly empty?: string;
  /** Labels of values that do not say enough themselves; of an integer, the values to choose from. */
  readonly choices?: Readonly<Record<string, string>>;
  /** The things whose ids it can have; absent: its values, or any text. */
  readonly from?: "models" | "keys";
  /** The values of other fields with which it is shown; absent: always. */
  readonly when?: Readonly<Record<string, readonly string[]>>;
  /** The value in the form of a new thing. */
  readonly initial?: string;
  /** Whether it shares a line with the next field; absent: figures, amounts and days do. */
  readonly isHalf?: boolean;
  /** Whether a text is a decimal number. */
  readonly isDecimal?: boolean;
}

export type Fields<Row> = Readonly<Record<string, Field<Row>>>;

/** How a value in JSON is one of a column. */
export interface Unit {
  /** @throws {GatewayError} `invalid_request` */
  toColumn(value: unknown, name: string): unknown;
  toJson(value: unknown): unknown;
  /** Stands in the column for `null`; absent: null itself. */
  readonly none?: string;
}

/** Decimal US dollars from 0 as nanodollars. @throws {GatewayError} `invalid_request` */
export function readBudget(text: string, param = "budget_usd"): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars >= 0) return nanodollars;
  const message = `${param} is ${quoteValue(text)}, expected US dollars from 0 such as 5.00, with at most nine decimals`;
  throw new GatewayError("invalid_request", message, { param });
}

/** Amounts from 0: decimal US dollars in JSON, nanodollars in the column. */
export const usd: Unit = {
  toColumn: (value, name) => readBudget(String(value), name),
  toJson: (value) => formatUsd(Number(value)),
};

/** Times: seconds since 1970 in JSON, milliseconds in the column. */
export const seconds: Unit = {
  toColumn: (value) => Number(value) * 1000,
  toJson: (value) => Math.floor(Number(value) / 1000),
};

/** A time in the future, which a body may also give in seconds from now: `expires_in_seconds` in place of `expires_at`. */
export const expiry: Unit = { ...seconds };
const Seconds = optional(Type.Integer({ minimum: 1, maximum: 10_000_000_000 }));
const toDurationName = (name: string) => name.replace(/_at$/, "_in_seconds");

/** Text that is empty in the column where it is `null` in JSON. */
export const textOrEmpty: Unit = { toColumn: (value) => value, toJson: (value) => value, none: "" };

export type Schemas<F extends Fields<never>> = { [Name in keyof F]: F[Name]["schema"] };
export type Changeable<F extends Fields<never>> = {
  [Name in keyof F as F[Name] extends { readonly changes: true } ? Name : never]: TOptional<F[Name]["schema"]>;
};
/** The columns of fields. */
export type ColumnsOf<Row, F extends Fields<never>> = Pick<Row, F[keyof F]["column"] & keyof Row>;
/** The values of fields in an answer: none is absent. */
export type JsonOf<F extends Fields<never>> = Required<Static<TObject<Schemas<Shown<F>>>>>;
type Shown<F extends Fields<never>> = {
  [Name in keyof F as F[Name] extends { readonly isWriteOnly: true } ? never : Name]: F[Name];
};

/** Types fields by the row that has them. */
export const defineFields =
  <Row>() =>
  <const F extends Fields<Row>>(fields: F): F =>
    fields;

/** Fields by the names of the management API. */
export type ApiFields<F extends Fields<never>> = {
  [Name in keyof F as F[Name] extends { readonly apiName: infer ApiName extends string } ? ApiName : Name]: F[Name];
};

/** Returns the fields by their names in the management API. */
export function apiFields<F extends Fields<never>>(fields: F): ApiFields<F> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [field.apiName ?? name, field]),
  ) as ApiFields<F>;
}

/** The properties of a body that makes the thing. */
export function bodyFields<F extends Fields<never>>(fields: F): Schemas<F> {
  return mapFields(fields, ({ schema }) => schema) as Schemas<F>;
}

/** The schemas of a request, which may also give a time in the future in seconds from now. */
export function requestFields<F extends Fields<never>>(fields: F): Schemas<F> {
  const expiries = Object.entries(fields).filter(([, { unit }]) => unit === expiry);
  return { ...bodyFields(fields), ...Object.fromEntries(expiries.map(([name]) => [toDurationName(name), Seconds])) };
}

/** The properties of a body that changes the thing. */
export function changeFields<F extends Fields<never>>(fields: F): Changeable<F> {
  const changeable = Object.fromEntries(Object.entries(fields).filter(([, { changes }]) => changes === true));
  return mapFields(changeable, ({ schema }) => Type.Optional(schema)) as Changeable<F>;
}

/** The properties of an answer: each is there, except what is never shown. */
export function answerFields<F extends Fields<never>>(fields: F): TRequired<TObject<Schemas<Shown<F>>>>["properties"] {
  const shown = Object.fromEntries(Object.entries(fields).filter(([, { isWriteOnly }]) => isWriteOnly !== true));
  return Type.Required(Type.Object(bodyFields(shown as Shown<F>))).properties;
}

/** Columns of a thing without any of these fields: all are null. */
export function emptyColumns<F extends Fields<never>>(fields: F): Record<F[keyof F]["column"], null> {
  const columns = Object.values(fields).map(({ column }) => [column, null]);
  return Object.fromEntries(columns) as Record<F[keyof F]["column"], null>;
}

/** The values of a body in their columns; absent fields are left out. @throws {GatewayError} `invalid_request` */
export function toColumns<Row, F extends Fields<Row>>(
  fields: F,
  body: Readonly<Record<string, unknown>>,
  /** Milliseconds since 1970, for times in seconds from now. */
  now = 0,
): Partial<ColumnsOf<Row, F>> {
  const columns: Record<string, unknown> = {};
  for (const [name, { column, unit }] of Object.entries(fields)) {
    const duration = unit === expiry ? body[toDurationName(name)] : undefined;
    if (duration != null && body[name] != null) {
      const message = `${name} and ${toDurationName(name)} are both given; leave one out`;
      throw new GatewayError("invalid_request", message, { param: name });
    }
    if (duration != null) columns[column] = now + Number(duration) * 1000;
    // One that is removed in seconds from now is removed.
    const value = duration == null ? (body[name] === undefined ? duration : body[name]) : undefined;
    if (value === null) columns[column] = unit?.none ?? null;
    else if (value !== undefined) columns[column] = unit === undefined ? value : unit.toColumn(value, name);
  }
  return columns as Partial<ColumnsOf<Row, F>>;
}

/** The values of columns in JSON; those that are not there are `null`. */
export function toJson<Row, F extends Fields<Row>>(fields: F, row: Partial<Row>): JsonOf<F> {
  const shown = Object.entries(fields).filter(([, { isWriteOnly }]) => isWriteOnly !== true);
  const entries = shown.map(([name, { column, unit }]) => {
    const value = row[column as keyof Row] ?? null;
    if (value === null || value === unit?.none) return [name, null];
    return [name, unit === undefined ? value : unit.toJson(value)];
  });
  return Object.fromEntries(entries) as JsonOf<F>;
}

/** The schemas of which a value fits one. */
export function membersOf(schema: TSchema): readonly TSchema[] {
  return (schema.anyOf as TSchema[] | undefined) ?? [schema];
}

/** "raise_usd" → "Raise usd" */
export function toWords(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function mapFields<Value>(fields: Fields<never>, toValue: (field: Field<never>) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toValue(field)]));
}
