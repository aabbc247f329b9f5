import { columns } from "./columns.ts";
import type { Command } from "./command.ts";

/** The page of all commands, or of one group. */
export function helpOfAll(commands: readonly Command[], group?: string): string {
  const shown = group === undefined ? commands : commands.filter(({ name }) => name.startsWith(`${group} `));
  // A group is small enough to show its flags at once.
  const rows = shown.map((command) => [`  ${group === undefined ? command.name : usageOf(command)}`, command.about]);
  return [
    "modelgate: one OpenAI-shaped HTTP API in front of many model providers",
    "",
    `Usage: modelgate ${group ?? "COMMAND"} ${group === undefined ? "[flags]" : "COMMAND [flags]"}`,
    "",
    columns(rows),
    "",
    "Every command takes --help for its flags, and --json for one JSON value on standard output.",
    "",
  ].join("\n");
}

/** The page of one command. */
export function helpOf(command: Command): string {
  const keyLimits = Object.entries(command.flags).map(([name, { value, about, required }]) => [
    `  --${name} ${value}`.trimEnd(),
    required ? `${about} (required)` : about,
  ]);
  const common = [
    ["  --json", "One JSON value on standard output"],
    ["  --help", "This page"],
  ];
  return [
    `${command.about}`,
    "",
    `Usage: modelgate ${usageOf(command)}`,
    "",
    columns([...keyLimits, ...common]),
    "",
    `Example: modelgate ${command.example}`,
    "",
  ].join("\n");
}

function usageOf({ name, args, flags }: Command): string {
  const written = Object.entries(flags).map(([flag, { value, required }]) =>
    required ? `--${flag} ${value}` : `[--${flag}${value === "" ? "" : ` ${value}`}]`,
  );
  return [name, ...args, ...written].join(" ");
}
