import { expect, test } from "bun:test";
import { join } from "node:path";

/** Brings up the loopback of a network that has nothing else; a bare machine may lack `ip`. */
const loopbackUp = `import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))`;

const canUnshare =
  Bun.which("python3") !== null && Bun.which("unshare") !== null && Bun.spawnSync(["unshare", "-n", "true"]).success;
if (!canUnshare) console.warn("A start without network is not tried: this needs python3 and the right to unshare -n");

test.skipIf(!canUnshare)("the gateway starts and answers where there is no network at all", async () => {
  const script = 'python3 -c "$1" && exec "$2" "$3"';
  const words = ["sh", "-c", script, "sh", loopbackUp, process.execPath, join(import.meta.dir, "ask-offline.ts")];
  const child = Bun.spawn(["unshare", "-n", ...words], { stdout: "pipe", stderr: "pipe" });
  const [said, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, complaint]).toEqual([0, ""]);
  expect(JSON.parse(said)).toEqual({
    world: "out of reach",
    status: 200,
    object: "chat.completion",
    docs: 200,
    health: 0,
  });
});
