import type { Command } from "./command.ts";
import { describeExitCodes } from "./exit-codes.ts";
import { columns } from "./lib/format.ts";

/** Formats the help of all commands, or of one group. */
export function formatHelp(commands: readonly Command[], group?: string): string {
  const shown = group === undefined ? commands : commands.filter(({ name }) => name.startsWith(`${group} `));
  // A group is small enough to show the flags too.
  const rows = shown.map((command) => [
    `  ${group === undefined ? command.name : formatUsage(command)}`,
    command.description,
  ]);
  return [
    "modelgate: one OpenAI-shaped HTTP API in front of many model providers",
    "",
    `Usage: modelgate ${group ?? "COMMAND"} ${group === undefined ? "[flags]" : "COMMAND [flags]"}`,
    "",
    columns(rows),
    "",
    "Every command accepts --help to list its flags, and --json to print one JSON value to standard output.",
    describeExitCodes(),
    "",
  ].join("\n");
}

/** Formats the help of one command. */
export function formatCommandHelp(command: Command): string {
  const own = Object.entries(command.flags).map(([name, { value, description, required }]) => [
    `  --${name} ${value}`.trimEnd(),
    required ? `${description} (required)` : description,
  ]);
  const common = [
    ["  --json", "Print one JSON value to standard output"],
    ["  --help", "Show this help"],
  ];
  return [
    command.description,
    "",
    `Usage: modelgate ${formatUsage(command)}`,
    "",
    columns([...own, ...common]),
    "",
    `Example: modelgate ${command.example}`,
    "",
  ].join("\n");
}

function formatUsage({ name, args, flags }: Command): string {
  const written = Object.entries(flags).map(([flag, { value, required }]) =>
    required ? `--${flag} ${value}` : `[--${flag}${value === "" ? "" : ` ${value}`}]`,
  );
  return [name, ...args, ...written].join(" ");
}
