import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commands } from "../../../src/cli/index.ts";
import { type Bench, makeBench } from "./fixture.ts";

let bench: Bench;
let folder: string;
beforeAll(() => {
  bench = makeBench();
  folder = mkdtempSync(join(tmpdir(), "modelgate-completion-"));
  mkdirSync(join(folder, "config"));
  writeFileSync(join(folder, "a file.json"), "");
});
afterAll(() => {
  bench.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** A file is offered in the place of names of files. */
const file = "a file.json";

/** The words of a command line, of which the last one is being written. */
type Line = readonly string[];

interface Shell {
  readonly name: string;
  /** Arguments that make the shell read a script and no file of its user. */
  readonly options: readonly string[];
  /** A script that prints, a line each, what is offered for these command lines, and `.` behind each of them. */
  ask(lines: readonly Line[]): string;
}

const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
const joined = (line: Line) => line.map(quote).join(" ");

/** Functions of zsh's own completion, which exist only in an interactive shell, print what they are given. */
const zshStubs = `
compdef() { [[ "$*" == "_modelgate modelgate" ]] || print "compdef $*" }
compset() { PREFIX="\${PREFIX#*=}" }
compadd() { shift; local each; for each in "$@"; do [[ $each == $PREFIX* ]] && print -r -- $each; done }
_files() { print -rl -- *(N) }
_describe() { local each; for each in "\${(@P)@[-1]}"; do each="\${each%%:*}"; [[ $each == $PREFIX* ]] && print -r -- $each; done }
ask() { words=(modelgate "$@"); CURRENT=$#words; PREFIX=$words[-1]; _modelgate; print . }
`;

const shells: readonly Shell[] = [
  {
    name: "bash",
    options: ["--norc", "--noprofile"],
    ask: (lines) => `
ask() {
  COMP_WORDS=(modelgate "$@"); COMP_CWORD=$#
  _modelgate
  for each in "\${COMPREPLY[@]}"; do echo "$each"; done
  echo .
}
${lines.map((line) => `ask ${joined(line.flatMap((word) => word.split(/(?<=^--[a-z-]+)(=)/)))}`).join("\n")}`,
  },
  {
    name: "zsh",
    options: ["-f"],
    ask: (lines) => lines.map((line) => `ask ${joined(line)}`).join("\n"),
  },
  {
    name: "fish",
    options: ["--no-config"],
    ask: (lines) =>
      lines
        .map((line) => `complete -C ${quote(["modelgate", ...line].join(" "))} | string replace -r '\\t.*' ''; echo .`)
        .join("\n"),
  },
];

/** Whether a shell is installed. */
function isInstalled({ name }: Pick<Shell, "name">): boolean {
  if (Bun.which(name) !== null) return true;
  console.warn(`Completion for ${name} is not tried: ${name} is not installed`);
  return false;
}

/** Says what a shell offers for command lines, without order. */
async function offers(shell: Shell, lines: readonly Line[]): Promise<string[][]> {
  const { code, stdout: script } = await bench.run("completion", shell.name);
  expect(code).toBe(0);
  const before = shell.name === "zsh" ? zshStubs : "";
  const child = Bun.spawn([shell.name, ...shell.options, "-c", `${before}${script}\n${shell.ask(lines)}`], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, XDG_CONFIG_HOME: join(folder, "config"), LC_ALL: "C.UTF-8" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect({ code: await child.exited, stderr }).toEqual({ code: 0, stderr: "" });
  const answers = stdout.split(/^\.\n/m).slice(0, -1);
  expect(answers.length).toBe(lines.length);
  return answers.map((answer) => answer.split("\n").filter(Boolean).sort());
}

for (const shell of shells) {
  describe.skipIf(!isInstalled(shell))(`the completion for ${shell.name}`, () => {
    test("offers the words of every command, one after the other", async () => {
      const lines = commands.flatMap(({ name }) => {
        const words = name.split(" ");
        return words.map((_, index) => words.slice(0, index + 1));
      });
      // Commands of one group begin alike, and are offered together.
      const groupOf = (line: Line) => line.slice(0, -1).join(" ");
      const groups = [...new Set(lines.map(groupOf))];
      const offered = await offers(
        shell,
        groups.map((group) => [...group.split(" ").filter(Boolean), ""]),
      );
      const isOffered = (line: Line) => offered[groups.indexOf(groupOf(line))]?.includes(line.at(-1) as string);
      expect(lines.filter((line) => !isOffered(line))).toEqual([]);
    });

    test("offers the flags of every command, and only these", async () => {
      const offered = await offers(
        shell,
        commands.map(({ name }) => [...name.split(" "), "-"]),
      );
      const flags = commands.map(({ flags }) =>
        [...Object.keys(flags), "json", "help"].map((flag) => `--${flag}`).sort(),
      );
      expect(offered).toEqual(flags);
    });

    test("offers the values of flags and arguments that are a fixed set", async () => {
      const fixed = commands.flatMap(({ name, flags, args, choices = {} }) => [
        ...Object.entries(flags).map(([flag, row]) => ({ line: [...name.split(" "), `--${flag}`, ""], row })),
        ...args.slice(0, 1).map((arg) => ({ line: [...name.split(" "), ""], row: { choices: choices[arg] } })),
      ]);
      const rows = fixed.flatMap(({ line, row: { choices } }) => (choices === undefined ? [] : [{ line, choices }]));
      expect(rows.length).toBeGreaterThan(10);
      const offered = await offers(
        shell,
        rows.map(({ line }) => line),
      );
      expect(offered).toEqual(rows.map(({ choices }) => [...choices].sort()));
    });

    test.each([
      ["a command that begins with some letters", ["back"], ["backup"]],
      ["commands within a group of a group", ["provider", "key", ""], ["remove", "set"]],
      ["commands behind help", ["help", "limit", ""], ["change", "list", "remove", "set", "show"]],
      ["help and version at first", ["-"], ["--help", "--version"]],
      ["only help behind a group", ["account", "-"], ["--help"]],
      ["flags behind an argument", ["account", "show", "ada@example.org", "-"], ["--help", "--json"]],
      ["nothing where any text can be", ["account", "create", "--email", ""], []],
      ["flags behind the value of a flag", ["quota", "set", "--account", "A", "--t"], ["--tokens"]],
      ["no command behind a flag", ["export", "--json", "c"], []],
      ["flags of a command that a longer one begins with", ["export", "--s"], ["--sections"]],
      ["flags of the longer one", ["export", "calls", "--f"], ["--format"]],
      ["files in the place of a file", ["backup", ""], [file]],
      ["no file in the place of a name", ["provider", "remove", "a"], []],
    ])("offers %s", async (_, line, expected) => {
      const [offered = []] = await offers(shell, [line]);
      expect(
        offered.filter((word) => word !== "config/" && word !== "config").map((word) => word.replace("\\", "")),
      ).toEqual(expected);
    });

    test("offers values behind an equals sign", async () => {
      const [offered = []] = await offers(shell, [["ledger", "export", "--format=c"]]);
      expect(offered.map((word) => word.replace("--format=", ""))).toEqual(["csv"]);
    });
  });
}

test("bash has the completion by its name once it has read the script", async () => {
  const { stdout } = await bench.run("completion", "bash");
  const child = Bun.spawnSync(["bash", "--norc", "--noprofile", "-c", `eval "$1"; complete -p modelgate`, "-", stdout]);
  expect(child.stdout.toString()).toBe("complete -F _modelgate modelgate\n");
});

test.skipIf(!isInstalled({ name: "zsh" }))("zsh has the completion from a file of its function path too", async () => {
  const { stdout } = await bench.run("completion", "zsh");
  writeFileSync(join(folder, "config/_modelgate"), stdout);
  const script = `${zshStubs}fpath=($1 $fpath); autoload -Uz _modelgate; ask back; ask wall`;
  const child = Bun.spawnSync(["zsh", "-f", "-c", script, "-", join(folder, "config")]);
  rmSync(join(folder, "config/_modelgate"));
  expect(child.stderr.toString()).toBe("");
  expect(child.stdout.toString()).toBe("backup\n.\nwallet\n.\n");
});

test("docs/command-line.md has the line by which each script says that it is loaded", async () => {
  const page = readFileSync(join(import.meta.dir, "../../../docs/command-line.md"), "utf8");
  for (const { name } of shells) {
    const { stdout } = await bench.run("completion", name);
    const [, load = "nothing"] = /^# Completion of .*: (.+)$/m.exec(stdout) ?? [];
    expect(page).toContain(`| \`${load.replace("|", "\\|")}\` `);
  }
});

test("completion prints the same script as JSON, and refuses another shell by naming those it has", async () => {
  const { stdout } = await bench.run("completion", "fish");
  expect(await bench.json("completion", "fish")).toEqual({ shell: "fish", script: stdout.trimEnd() });
  expect(await bench.run("completion", "tcsh")).toEqual({
    code: 2,
    stdout: "",
    stderr: "There is no completion for tcsh, expected one of bash, zsh, fish\n",
  });
});

describe("a fixed set of the table of commands is what the command takes:", () => {
  const rows = commands.flatMap((command) =>
    Object.entries(command.flags).flatMap(([flag, { choices }]) =>
      choices === undefined ? [] : [[`${command.name} --${flag}`, command, flag, choices] as const],
    ),
  );

  test.each(rows)("%s names it when it refuses another value", async (_, { name, args, flags }, flag, choices) => {
    const email = "ada@example.org";
    await bench.run("account", "create", "--email", email);
    const samples: Record<string, string> = {
      usd: "5.00",
      from: "2026-11-01",
      to: "2026-11-02",
      A: email,
      minutes: "15",
      order: "1",
      NAME: "new-one",
      person: email,
    };
    const required = Object.entries(flags).filter(([each, row]) => row.required && each !== flag);
    const others = required.flatMap(([each, row]) => [`--${each}`, samples[each] ?? row.choices?.[0] ?? "any"]);
    const argv = [...name.split(" "), ...args.map((arg) => samples[arg] ?? arg), ...others, `--${flag}`, "wrong"];
    const { code, stderr } = await bench.run(...argv);
    expect({ code, missing: choices.filter((choice) => !stderr.includes(choice)), stderr }).toEqual({
      code: 2,
      missing: [],
      stderr: expect.stringContaining("wrong"),
    });
  });
});
