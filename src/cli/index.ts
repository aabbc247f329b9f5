import { readConfig } from "../config/index.ts";
import { toTerminalText } from "../lib/terminal-text.ts";
import { moduleSettings } from "../modules/index.ts";
import { createRedactor } from "../observability/redact.ts";
import { type CliContext, UsageError } from "./command.ts";
import { commands } from "./commands/index.ts";
import { describeError } from "./describe-error.ts";
import { exitCodes } from "./exit-codes.ts";
import { formatCommandHelp, formatHelp } from "./help.ts";
import { type Arguments, parseArguments } from "./parse-arguments.ts";

export type { BuiltIns, CliContext, Command } from "./command.ts";
export { commands } from "./commands/index.ts";

/**
 * Runs one command line, given without the name of the program.
 *
 * @returns The exit code, one of {@link exitCodes}. One message on standard error says why it is not 0, unless the output of the
 * command does.
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
    const config = readConfig(context.env, moduleSettings);
    const now = context.now === undefined ? Date.now() : context.now();
    const result = await parsed.command.run(context, {
      flags: parsed.flags,
      args: parsed.args,
      json: parsed.json,
      config,
      now,
    });
    if (result === undefined) return exitCodes.success;
    context.stdout(`${parsed.json ? JSON.stringify(result.json) : result.text}\n`);
    return result.exitCode ?? exitCodes.success;
  } catch (error) {
    return reportError(error, argv, context);
  }
}

function printHelp({ command, group, help, json }: Arguments, context: CliContext): number {
  const page = command === undefined ? formatHelp(commands, group) : formatCommandHelp(command);
  if (!help) {
    if (json) throw new UsageError("There is no command, expected one; see modelgate --help");
    context.stderr(page);
    return exitCodes.invalid;
  }
  context.stdout(json ? `${JSON.stringify({ help: page })}\n` : page);
  return exitCodes.success;
}

function reportError(error: unknown, argv: readonly string[], context: CliContext): number {
  const redact = createRedactor(context.env);
  const { error: described, exitCode } = describeError(error);
  const message = redact(described.message);
  // Also for a command line that could not be read: whoever writes --json reads JSON.
  if (argv.includes("--json")) {
    const param = described.param === null ? null : redact(described.param);
    context.stderr(`${JSON.stringify({ error: { ...described, message, param } })}\n`);
    return exitCode;
  }
  context.stderr(`${message}\n`);
  // Other kinds say all in their message.
  const isFailure = exitCode === exitCodes.failed || exitCode === exitCodes.unavailable;
  if (isFailure && context.env.LOG_LEVEL === "debug" && error instanceof Error)
    context.stderr(`${redact(String(error.stack))}\n`);
  return exitCode;
}
