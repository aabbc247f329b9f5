import { expect, test } from "bun:test";
import { join } from "node:path";

const source = join(import.meta.dir, "../../../../src/cli/lib/process.bun.ts");
/** Says once that it listens, and then how it stands each time that it is asked. */
const script = `
  import { watchSignals } from ${JSON.stringify(source)};
  let state = "runs";
  watchSignals(() => {}).first.then(() => { state = "ends"; });
  console.log("listens");
  for await (const line of console) { if (line) console.log(state); if (state === "ends") process.exit(0); }
`;

/** Starts a process by these words of a shell, sends it a signal and asks it up to so many times, until it says that it ends. */
async function endsAfter(signal: NodeJS.Signals, words: string, timesMax: number): Promise<boolean> {
  const command = ["sh", "-c", `${words} exec "$0" -e "$1"`, process.execPath, script];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe("listens\n");
  child.kill(signal);
  let value: string | undefined;
  for (let times = 0; value !== "ends\n" && times < timesMax; times++) {
    await Bun.sleep(20);
    child.stdin.write("?\n");
    child.stdin.flush();
    ({ value } = await reader.read());
  }
  child.kill("SIGKILL");
  await child.exited;
  return value === "ends\n";
}

test.skipIf(process.platform !== "linux")(
  "SIGHUP ends a process in order, unless it was started to ignore it",
  async () => {
    expect(await endsAfter("SIGHUP", "", 3000)).toBe(true);
    expect(await endsAfter("SIGTERM", "", 3000)).toBe(true);
    expect(await endsAfter("SIGHUP", "trap '' HUP;", 20)).toBe(false);
  },
);
