import { type Command, defineCommand, UsageError } from "../command.ts";
import { toBash } from "../completion/bash.ts";
import { toFish } from "../completion/fish.ts";
import { getPlaces } from "../completion/places.ts";
import { toZsh } from "../completion/zsh.ts";

const writers = { bash: toBash, zsh: toZsh, fish: toFish } as const;
const shells = Object.keys(writers) as (keyof typeof writers)[];

/** Makes the command from the table of commands, which it is itself a row of. */
export function defineCompletion(getCommands: () => readonly Command[]): Command {
  return defineCommand({
    name: "completion",
    description: "Print the completion script for bash, zsh or fish",
    flags: {},
    args: ["SHELL"],
    choices: { SHELL: shells },
    example: "completion bash",
    async run(_context, { args }) {
      const shell = shells.find((name) => name === args.SHELL);
      if (shell === undefined) {
        throw new UsageError(`There is no completion for ${args.SHELL}, expected one of ${shells.join(", ")}`);
      }
      const script = writers[shell](getPlaces(getCommands())).trimEnd();
      return { json: { shell, script }, text: script };
    },
  });
}
