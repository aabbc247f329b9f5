import { createHash } from "node:crypto";

/** A script of Redis, called by its hash for one call or for several at once. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** What a script is run with, once. */
export interface ScriptRun {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/**
 * Makes a script of the body of one run, which sees its own `KEYS` and `ARGV`. It answers a list, of each run what its
 * body returned. Time is Redis's own unless the first argument of a run gives one, so that all nodes share one clock.
 */
export function defineScript(body: string): Script {
  const text = `
local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function run(KEYS, ARGV)
local now = tonumber(ARGV[1]) or clock
${body.trim()}
end
local answers, keyAt, at = {}, 0, 0
while at < #ARGV do
  local keys, args = {}, {}
  local keyCount, argCount = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  for i = 1, keyCount do keys[i] = KEYS[keyAt + i] end
  for i = 1, argCount do args[i] = ARGV[at + 2 + i] end
  keyAt = keyAt + keyCount
  at = at + 2 + argCount
  answers[#answers + 1] = run(keys, args)
end
return answers`.trim();
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/** The keys and arguments of several runs, as the script takes them. */
export function wordsOf(runs: readonly ScriptRun[]): { keys: string[]; args: string[] } {
  const words = { keys: [] as string[], args: [] as string[] };
  for (const { keys, args } of runs) {
    words.keys.push(...keys);
    words.args.push(String(keys.length), String(args.length), ...args);
  }
  return words;
}
