import type { Options } from "./options.ts";
import type { Processes } from "./processes.ts";
import { type Row, runRounds, warmUp } from "./rounds.ts";
import { startServers, whyNoServers } from "./servers.ts";
import { type Subject, startBare, startGate, type Upstream } from "./subjects.ts";

const connectionCounts = [1, 32];

/** What the books cost by where they are: in SQLite and in process, or in a PostgreSQL and a Redis that nodes share. */
export async function measureBooks(
  { rounds, roundSeconds: seconds }: Options,
  processes: Processes,
  { upstream, say }: { upstream: Upstream; say: (line: string) => void },
): Promise<Row[]> {
  const bare = await startBare(processes, upstream);
  const gate = { ...(await startGate(processes, upstream, { home: "embedded" })), name: "embedded" };
  const servers = whyNoServers === undefined ? await startServers() : undefined;
  if (servers === undefined) say(`books: only embedded ones are measured: ${whyNoServers}`);
  const subjects: Subject[] = [bare, gate];
  try {
    if (servers !== undefined) {
      const scaledOut = await startGate(processes, upstream, { home: "scaled-out", books: servers.env });
      subjects.push({ ...scaledOut, name: "PostgreSQL and Redis" });
    }
    for (const subject of subjects) await warmUp(processes, subject);
    const rows: Row[] = [];
    for (const connections of connectionCounts) {
      say(`books: ${connections} connections`);
      rows.push(...(await runRounds(processes, subjects, { kind: "json", connections, seconds, rounds })));
    }
    return rows;
  } finally {
    for (const { pid } of subjects) await processes.end(pid);
    await servers?.remove();
  }
}
