import { ConfigError, readConfig } from "../config/index.ts";
import { GatewayError } from "../contract/index.ts";
import { StoreError } from "../db/index.ts";
import { RedisRefused } from "../ledger/index.ts";
import { toTerminalText } from "../lib/terminal-text.ts";
import { createRedactor } from "../observability/redact.ts";
import { type CliContext, UsageError } from "./command.ts";
import { commands } from "./commands/index.ts";
import { formatCommandHelp, formatHelp } from "./help.ts";
import { type Arguments, parseArguments } from "./parse-arguments.ts";

export type { BuiltIns, CliContext, Command } from "./command.ts";
export { commands } from "./commands/index.ts";

/**
 * Runs one command line, given without the name of the program.
 *
 * @returns The exit code: 0 success; 1 the command failed or found a problem; 2 the command line or configuration is
 * invalid (one message on standard error says why, and nothing was changed).
 */
export async function runCli(argv: string[], { stdout, stderr, ...others }: CliContext): Promise<number> {
  // Names, errors of providers and other databases may have anything in them.
  const context: CliContext = {
    ...others,
    stdout: (text) => stdout(toTerminalText(text)),
    stderr: (text) => stderr(toTerminalText(text)),
  };
  try {
    const parsed = parseArguments(argv[0] === "--version" ? ["version", ...argv.slice(1)] : argv, commands);
    if (parsed.help || parsed.command === undefined) return printHelp(parsed, context);
    const config = readConfig(context.env);
    const now = context.now === undefined ? Date.now() : context.now();
    const result = await parsed.command.run(context, {
      flags: parsed.flags,
      args: parsed.args,
      json: parsed.json,
      config,
      now,
    });
    if (result === undefined) return 0;
    context.stdout(`${parsed.json ? JSON.stringify(result.json) : result.text}\n`);
    return result.exitCode ?? 0;
  } catch (error) {
    return reportError(error, context);
  }
}

function printHelp({ command, group, help, json }: Arguments, context: CliContext): number {
  const page = command === undefined ? formatHelp(commands, group) : formatCommandHelp(command);
  if (!help) {
    context.stderr(page);
    return 2;
  }
  context.stdout(json ? `${JSON.stringify({ help: page })}\n` : page);
  return 0;
}

/** Errors in what the operator wrote, as opposed to failures. */
const usageErrors = [UsageError, ConfigError, GatewayError, RedisRefused, StoreError];

function reportError(error: unknown, context: CliContext): number {
  const redact = createRedactor(context.env);
  const message = redact(error instanceof Error ? error.message : String(error));
  context.stderr(`${message}\n`);
  if (usageErrors.some((type) => error instanceof type)) return 2;
  if (context.env.LOG_LEVEL === "debug" && error instanceof Error) context.stderr(`${redact(String(error.stack))}\n`);
  return 1;
}
