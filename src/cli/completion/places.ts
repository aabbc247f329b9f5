import type { Command } from "../command.ts";

/** A word that can come next, with what it does. */
export interface Word {
  readonly word: string;
  readonly description: string;
}

/** An argument or the value of a flag: one of some words, or the name of a file; neither: any text. */
export interface Value {
  readonly choices?: readonly string[] | undefined;
  readonly isFile: boolean;
}

export interface FlagWord extends Word {
  /** Absent for a flag without a value. */
  readonly value?: Value;
}

/** A point in a command line: behind the words of a command, or of the beginning of one. */
export interface Place {
  /** The words, such as `provider key`; empty at the beginning. */
  readonly path: string;
  readonly words: readonly Word[];
  readonly flags: readonly FlagWord[];
  readonly args: readonly Value[];
}

/** Placeholders in the help of arguments and flags that are names of files or folders. */
const filePlaceholders = ["FILE", "PATH", "CONFIG", "TARGET", "PEM"];

const helpFlag = { word: "--help", description: "Show the help" };
const commonFlags = [{ word: "--json", description: "Print one JSON value to standard output" }, helpFlag];

/** Lists all places that the table of commands has. */
export function getPlaces(commands: readonly Command[]): Place[] {
  const paths = new Set([""]);
  for (const { name } of commands) {
    const parts = name.split(" ");
    for (const index of parts.keys()) paths.add(parts.slice(0, index + 1).join(" "));
  }
  return [...paths].map((path) => {
    const command = commands.find(({ name }) => name === path);
    return {
      path,
      words: getWords(path, paths, commands),
      flags: command === undefined ? getFlagsWithoutCommand(path) : getFlags(command),
      args: command?.args.map((name) => toValue(name, command.choices?.[name])) ?? [],
    };
  });
}

function getWords(path: string, paths: ReadonlySet<string>, commands: readonly Command[]): Word[] {
  const prefix = path === "" ? "" : `${path} `;
  const next = [...paths].filter(
    (each) => each !== "" && each.startsWith(prefix) && !each.includes(" ", prefix.length),
  );
  const words = next
    .filter((each) => each !== path)
    .map((each) => ({ word: each.slice(prefix.length), description: describePath(each, commands) }));
  return path === "" ? [...words, { word: "help", description: "Show the help of a command" }] : words;
}

/** A command says what it does, and a group which commands it has. */
function describePath(path: string, commands: readonly Command[]): string {
  const command = commands.find(({ name }) => name === path);
  if (command !== undefined) return command.description;
  const within = commands.filter(({ name }) => name.startsWith(`${path} `));
  return within.map(({ name }) => name.slice(path.length + 1)).join(", ");
}

function getFlagsWithoutCommand(path: string): FlagWord[] {
  return path === "" ? [helpFlag, { word: "--version", description: "Show the version" }] : [helpFlag];
}

function getFlags({ flags }: Command): FlagWord[] {
  const own = Object.entries(flags).map(([name, { value, description, choices }]) => {
    const word = { word: `--${name}`, description };
    return value === "" ? word : { ...word, value: toValue(value, choices) };
  });
  return [...own, ...commonFlags];
}

function toValue(placeholder: string, choices: readonly string[] | undefined): Value {
  return { choices, isFile: filePlaceholders.includes(placeholder) };
}

/** Every flag with a value, with the place of its command. */
export function getValueFlags(places: readonly Place[]): { path: string; word: string; value: Value }[] {
  return places.flatMap(({ path, flags }) =>
    flags.flatMap(({ word, value }) => (value === undefined ? [] : [{ path, word, value }])),
  );
}

/** Every argument, with the place of its command and its number there from 0. */
export function getArguments(places: readonly Place[]): { path: string; index: number; value: Value }[] {
  return places.flatMap(({ path, args }) => args.map((value, index) => ({ path, index, value })));
}

/** Quotes a text with single quotes, for shells that expand nothing between them. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
