/** The flags of commands, made from the fields of the thing that they make or change. */
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { quoteValue } from "../../contract/index.ts";
import {
  bodyFields,
  expiry,
  type Field,
  type Fields,
  membersOf,
  seconds,
  toWords,
  type Unit,
  usd,
} from "../../lib/fields.ts";
import { parseJson } from "../../lib/json.ts";
import { type CliContext, type Flag, UsageError } from "../command.ts";
import { expiryForms, parseExpiry } from "./parse.ts";

const yesOrNo: readonly string[] = ["yes", "no"];

/** The values of flags, as they were given. */
type Given = Readonly<Record<string, string | undefined>>;

/** The names of the flags of fields. */
type FlagOf<F extends Fields<never>> = {
  [Name in keyof F & string]: Dashed<F[Name] extends { readonly flag: infer Text extends string } ? Text : Name>;
}[keyof F & string];
type Dashed<Text extends string> = Text extends `${infer Start}_${infer Rest}` ? `${Start}-${Dashed<Rest>}` : Text;

/** Makes the flags of fields. @param options.isNew Whether they make a thing, which needs those that cannot be absent. */
export function toFlags<F extends Fields<never>>(
  fields: F,
  { isNew = false }: { readonly isNew?: boolean } = {},
): Readonly<Record<FlagOf<F>, Flag>> {
  const required = new Set<string>(isNew ? Type.Object(bodyFields(fields)).required : []);
  const flags = Object.entries(fields).map(([field, declared]): [string, Flag] => {
    const choices = choicesOf(declared.schema);
    const flag = {
      value: toPlaceholder(declared),
      description: describe(field, declared),
      ...(choices !== undefined && { choices }),
    };
    return [toFlag(field, declared), required.has(field) ? { ...flag, required: true as const } : flag];
  });
  return Object.fromEntries(flags) as Readonly<Record<FlagOf<F>, Flag>>;
}

/**
 * Reads flags as the body of a request, and checks them as that is checked.
 *
 * @param properties The schemas of the body.
 * @throws {GatewayError | UsageError}
 */
export async function readFlags<Properties extends TProperties>(
  fields: Fields<never>,
  properties: Properties,
  { flags, now }: { readonly flags: Given; readonly now: number },
): Promise<Static<TObject<Properties>>> {
  // It takes longer to load than most commands take.
  const { checkBody } = await import("../../http/lifecycle/validate.ts");
  return checkBody(Type.Object(properties, { additionalProperties: false }), toBody(fields, flags, now));
}

/** The name of a field's flag. */
export function toFlag(field: string, { flag = field }: { readonly flag?: string } = {}): string {
  return flag.replaceAll("_", "-");
}

/** Replaces `-` by standard input: a list of processes shows the flags of a command. */
export async function readSecrets({ stdin }: CliContext, fields: Fields<never>, flags: Given): Promise<Given> {
  const secrets = Object.entries(fields).filter(([, { isWriteOnly }]) => isWriteOnly === true);
  const names = secrets.map(([field, declared]) => toFlag(field, declared)).filter((flag) => flags[flag] === "-");
  if (names.length === 0) return flags;
  if (names.length > 1) throw new UsageError(`--${names.join(" and --")} cannot both be read from standard input`);
  const text = (await stdin?.())?.trim() ?? "";
  if (text === "") throw new UsageError(`Standard input is empty, expected the value of --${names[0]} there`);
  return { ...flags, [names[0] as string]: text };
}

/** The values of flags as the body of a request has them. */
function toBody(fields: Fields<never>, flags: Given, now: number): Record<string, unknown> {
  const values = Object.entries(fields).flatMap(([field, declared]): [string, unknown][] => {
    const text = flags[toFlag(field, declared)];
    return text === undefined ? [] : [[field, toValue(text, { ...declared, flag: toFlag(field, declared) }, now)]];
  });
  return Object.fromEntries(values);
}

function toValue(text: string, { schema, unit, flag }: Field<never>, now: number): unknown {
  const members = membersOf(schema);
  const isWhole = members.some(({ type }) => type === "integer");
  const isNone = text === "none" || (text === "default" && isWhole);
  if (isNone && members.some(({ type }) => type === "null")) return null;
  if (isTime(unit)) return Math.floor(parseExpiry(text, now, `--${flag}`) / 1000);
  if (members.some(({ type }) => type === "boolean")) {
    if (yesOrNo.includes(text)) return text === "yes";
    throw new UsageError(`--${flag} is ${quoteValue(text)}, expected ${yesOrNo.join(" or ")}`, { param: `--${flag}` });
  }
  if (members.some(({ type }) => type === "array")) return text.split(",").map((part) => part.trim());
  if (members.some(({ type }) => type === "object")) {
    const value = parseJson(text, "file");
    if (value !== undefined) return value;
    throw new UsageError(`--${flag} is ${quoteValue(text)}, expected JSON`, { param: `--${flag}` });
  }
  return isWhole && /^\d{1,16}$/.test(text) ? Number(text) : text;
}

function isTime(unit: Unit | undefined): boolean {
  return unit === seconds || unit === expiry;
}

/** The values that a field takes; absent: any. */
function choicesOf(schema: TSchema): readonly string[] | undefined {
  if (membersOf(schema).some(({ type }) => type === "boolean")) return yesOrNo;
  const choices = membersOf(schema).flatMap((member) => (typeof member.const === "string" ? [member.const] : []));
  return choices.length === 0 ? undefined : choices;
}

function toPlaceholder({ schema, unit }: Field<never>): string {
  if (isTime(unit)) return "30d";
  if (unit === usd) return "5.00";
  if (membersOf(schema).some(({ type }) => type === "array")) return "LIST";
  if (membersOf(schema).some(({ type }) => type === "object")) return "JSON";
  return membersOf(schema).some(({ type }) => type === "integer") ? "N" : "TEXT";
}

function toSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function describe(field: string, { schema, unit, isWriteOnly }: Field<never>): string {
  if (isTime(unit)) return toSentence(expiryForms);
  const texts = [schema, ...membersOf(schema)].flatMap(({ description }) => description ?? []);
  const text = (texts[0] ?? toWords(field)).replaceAll("`", "");
  const choices = choicesOf(schema);
  if (isWriteOnly === true) return `${text}; - reads it from standard input`;
  return `${text.replace(/\bnull(?=[:,])/, "absent")}${choices === undefined ? "" : `: ${choices.join(", ")}`}`;
}
