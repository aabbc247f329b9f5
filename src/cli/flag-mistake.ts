import { variables } from "../config/index.ts";
import { didYouMean } from "../sdk/did-you-mean.ts";
import type { Command } from "./command.ts";

/** Says in our words why `parseArgs` could not read a command's flags: its own sentences name neither command nor cure. */
export function flagMistake(error: unknown, argv: readonly string[], command: Command): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const names = [...Object.keys(command.flags), "json", "help"];
  const written = argv.find((word) => word.startsWith("-") && word !== "-h" && !names.includes(nameOf(word)));
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" && written !== undefined) {
    const hint = hintOf(nameOf(written), names) ?? `see modelgate ${command.name} --help`;
    return `Unknown flag ${written.split("=")[0]} of ${command.name}, ${hint}`;
  }
  const bare = argv.find((word, index) => lacksValue(word, argv[index + 1], command));
  if (bare !== undefined) {
    const placeholder = command.flags[nameOf(bare)]?.value;
    return `Flag ${bare} of ${command.name} has no value, expected ${bare} ${placeholder}`;
  }
  const laden = argv.find((word) => /^--(json|help)=/.test(word));
  if (laden !== undefined) return `Flag ${laden.split("=")[0]} of ${command.name} takes no value`;
  const sentence = error instanceof Error ? error.message.split(/[.\n]/)[0] : String(error);
  return `Cannot read the flags of ${command.name}: ${sentence}`;
}

/** Other servers take `--port 80`; here that is a variable. */
function hintOf(name: string, flags: readonly string[]): string | undefined {
  const variable = name.toUpperCase().replaceAll("-", "_");
  if (variables.includes(variable)) return `set the environment variable ${variable}`;
  const near = didYouMean(name, flags);
  return near === undefined ? undefined : `did you mean --${near}?`;
}

function lacksValue(word: string, next: string | undefined, command: Command): boolean {
  if (!word.startsWith("--") || word.includes("=") || !command.flags[nameOf(word)]?.value) return false;
  return next === undefined || next.startsWith("-");
}

function nameOf(word: string): string {
  return word.replace(/^-+/, "").split("=")[0] as string;
}
