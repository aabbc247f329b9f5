import { GatewayError } from "../../contract/index.ts";

/** Names of programs by the `client_id` or `surface` that they send; others are shown as they call themselves. */
const titles: Readonly<Record<string, string>> = {
  claude_code: "Claude Code",
  codex: "Codex",
  modelgate: "modelgate",
};
const form = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}$/;

/** The name that a program gives itself, as anybody can. @throws {GatewayError} `invalid_request` */
export function readProgram(name: string | undefined): string {
  if (name !== undefined && form.test(name)) return name;
  const message = "client_id is missing or wrong, expected 1 to 40 letters, digits, spaces, dots, - or _";
  throw new GatewayError("invalid_request", message, { param: "client_id" });
}

export function titleOf(program: string): string {
  return Object.hasOwn(titles, program) ? (titles[program] as string) : program;
}
