import { RedisRefused } from "../billing/index.ts";
import { ConfigError, readConfig } from "../config/index.ts";
import { GatewayError } from "../contract/index.ts";
import { StoreError } from "../db/index.ts";
import { createRedactor } from "../observability/redact.ts";
import { type CliContext, type CommandResult, UsageError } from "./command.ts";
import { commands } from "./commands/index.ts";
import { helpOf, helpOfAll } from "./help.ts";
import { type Arguments, readArguments } from "./read-arguments.ts";

export type { CliContext, Command } from "./command.ts";
export { commands } from "./commands/index.ts";

/**
 * Runs one command line, without the program's own name.
 *
 * @returns The exit code: 0 done, 1 the command found something wrong or failed, 2 it could not be run as written (one
 * sentence on standard error says why, and nothing was changed).
 */
export async function runCli(argv: string[], ground: CliContext): Promise<number> {
  try {
    const asked = readArguments(argv[0] === "--version" ? ["version", ...argv.slice(1)] : argv, commands);
    if (asked.help || asked.command === undefined) return printHelp(asked, ground);
    const config = readConfig(ground.env);
    const now = ground.now === undefined ? Date.now() : ground.now();
    const answer = await asked.command.run(ground, {
      flags: asked.flags,
      args: asked.args,
      json: asked.json,
      config,
      now,
    });
    if (answer === undefined) return 0;
    ground.stdout(`${asked.json ? JSON.stringify(answer.json) : answer.text}\n`);
    return exitCodeOf(answer);
  } catch (error) {
    return reportError(error, ground);
  }
}

function printHelp({ command, group, help, json }: Arguments, ground: CliContext): number {
  const page = command === undefined ? helpOfAll(commands, group) : helpOf(command);
  if (!help) {
    ground.stderr(page);
    return 2;
  }
  ground.stdout(json ? `${JSON.stringify({ help: page })}\n` : page);
  return 0;
}

function exitCodeOf({ exitCode }: CommandResult): number {
  return exitCode === undefined ? 0 : exitCode;
}

/** What the operator said wrong, and not what went wrong. */
const shellQuoted = [UsageError, ConfigError, GatewayError, RedisRefused, StoreError];

function reportError(error: unknown, ground: CliContext): number {
  const hide = createRedactor(ground.env);
  const sentence = hide(error instanceof Error ? error.message : String(error));
  ground.stderr(`${sentence}\n`);
  if (shellQuoted.some((wrong) => error instanceof wrong)) return 2;
  if (ground.env.LOG_LEVEL === "debug" && error instanceof Error) ground.stderr(`${hide(String(error.stack))}\n`);
  return 1;
}
