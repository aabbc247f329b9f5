import { Type } from "@sinclair/typebox";
import { GatewayError } from "./error.ts";

/**
 * Characters that no name may have and no terminal is shown: controls, which move its cursor and change its title, those that turn
 * the direction of text, and breaks of lines. A part of a class of a regular expression.
 */
export const unsafeCharacters = "\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069";

const nameLengthMax = 200;
export const namePattern = `^[^${unsafeCharacters}]*$`;

const nameForm = new RegExp(namePattern);
const unsafe = new RegExp(`[\\s${unsafeCharacters}]+`, "g");

/** A name that a person gives to a key, an account, a team, a model or a rule. It is shown to others. */
export const DisplayName = Type.String({
  minLength: 1,
  maxLength: nameLengthMax,
  pattern: namePattern,
  title: "text without control characters",
  description: "Without control characters",
});

/**
 * Checks a name that a person gives.
 *
 * @param what Such as `key name`, for the message.
 * @throws {GatewayError} `invalid_request` with the `param` `name`.
 */
export function checkName(name: string, what = "name", lengthMax = nameLengthMax): void {
  if (name.trim() === "" || name.length > lengthMax) {
    const message = `The ${what} has ${name.length} characters, expected 1 to ${lengthMax}`;
    throw new GatewayError("invalid_request", message, { param: "name" });
  }
  if (nameForm.test(name)) return;
  const message = `The ${what} has control characters; expected letters, digits, signs and spaces`;
  throw new GatewayError("invalid_request", message, { param: "name" });
}

/** Whether a text is a name that {@link checkName} takes. */
export function isName(text: string): boolean {
  return text.trim() !== "" && text.length <= nameLengthMax && nameForm.test(text);
}

/**
 * Makes a name from a text of another system: an identity provider, another gateway. Characters that a name cannot have
 * become spaces, and the text is cut to the maximum length.
 *
 * @returns `undefined` when nothing is left.
 */
export function toName(text: string): string | undefined {
  const name = text.toWellFormed().replaceAll(unsafe, " ").trim().slice(0, nameLengthMax).trim();
  return name === "" ? undefined : name;
}

/** An address that mail is sent from or to. */
export const Address = Type.String({
  pattern: "^[^\\s@<>,]{1,64}@[^\\s@<>,]{1,189}$",
  title: "name@host",
  maxLength: 254,
});
