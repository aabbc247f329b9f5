import { describe, expect, test } from "bun:test";
import { defineCommand, UsageError } from "../../../src/cli/command.ts";
import { parseArguments } from "../../../src/cli/parse-arguments.ts";

const run = async () => undefined;
const commands = [
  defineCommand({
    name: "account create",
    description: "Make an account",
    flags: { email: { value: "E", description: "address", required: true }, name: { value: "N", description: "name" } },
    args: [],
    example: "account create --email a@b.c",
    run,
  }),
  defineCommand({
    name: "account show",
    description: "Show",
    flags: {},
    args: ["A"],
    example: "account show a@b.c",
    run,
  }),
  defineCommand({ name: "models", description: "List", flags: {}, args: [], example: "models", run }),
];

describe("readArguments", () => {
  test.each([
    [["account", "create", "--email", "a@b.c"], { email: "a@b.c" }, {}],
    [["account", "create", "--name", "Ada L", "--email=a@b.c"], { email: "a@b.c", name: "Ada L" }, {}],
    [["account", "create", "--email", "a@b.c", "--name", "-5"], { email: "a@b.c", name: "-5" }, {}],
    [["account", "show", "a@b.c"], {}, { A: "a@b.c" }],
    [["account", "show", "--json", "a@b.c"], {}, { A: "a@b.c" }],
    [["models"], {}, {}],
  ])("reads %j", (argv, flags, args) => {
    const asked = parseArguments(argv, commands);
    expect({ flags: asked.flags, args: asked.args }).toEqual({ flags, args } as never);
    expect(asked.json).toBe(argv.includes("--json"));
    expect(asked.help).toBe(false);
  });

  test.each([
    [["--help"], undefined, undefined],
    [["help"], undefined, undefined],
    [["-h"], undefined, undefined],
    [["account", "--help"], undefined, "account"],
    [["help", "account"], undefined, "account"],
    [["account", "create", "--help"], "account create", undefined],
    [["help", "account", "create"], "account create", undefined],
    [["account", "create", "--email", "a@b.c", "-h"], "account create", undefined],
  ])("gives help on %j without asking for required flags", (argv, command, group) => {
    const asked = parseArguments(argv, commands);
    expect(asked.help).toBe(true);
    expect(asked.command?.name).toBe(command as string);
    expect(asked.group).toBe(group as string);
  });

  test.each([
    [["acount", "create"], "Unknown command acount create, did you mean account create?"],
    [["acount"], "Unknown command acount, did you mean account?"],
    [["model"], "Unknown command model, did you mean models?"],
    [["account", "shwo", "a"], "Unknown command account shwo, did you mean account show?"],
    [["account", "explode"], "Unknown command account explode, expected one of: account create, account show"],
    [["account"], "Incomplete command account, expected one of: account create, account show"],
    [["wibble"], "Unknown command wibble, see modelgate --help"],
    [["--port", "80"], "Unknown flag --port, expected a command first; see modelgate --help"],
    [["account", "create"], "Missing --email E, expected modelgate account create --email a@b.c"],
    [["account", "create", "--email"], "Flag --email of account create has no value, expected --email E"],
    [
      ["account", "create", "--email", "--name", "A"],
      "Flag --email of account create has no value, expected --email E",
    ],
    [["account", "create", "--email", ""], "Flag --email of account create is empty, expected E"],
    [["account", "create", "--emial", "a@b.c"], "Unknown flag --emial of account create, did you mean --email?"],
    [
      ["account", "create", "--wibble=1"],
      "Unknown flag --wibble of account create, see modelgate account create --help",
    ],
    [["account", "create", "--email=a", "--email=b"], "Flag --email of account create is set twice, expected once"],
    [
      ["account", "create", "--email", "a", "b"],
      'Unexpected "b" after account create, expected modelgate account create',
    ],
    [["account", "show"], "Missing A, expected modelgate account show a@b.c"],
    [["account", "show", "a", "b"], 'Unexpected "b" after account show, expected modelgate account show A'],
    [["models", "--port", "80"], "Unknown flag --port of models, set the environment variable PORT"],
    [["models", "--base-path=/v1"], "Unknown flag --base-path of models, set the environment variable BASE_PATH"],
    [["models", "--json=yes"], "Flag --json of models takes no value"],
  ])("answers %j with one sentence", (argv, sentence) => {
    const read = () => parseArguments(argv, commands);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(new UsageError(sentence));
  });
});
