import { twoFreePorts } from "./free-port.ts";
import { launchRedis, type TestRedis } from "./redis-server.ts";

/** Three masters that share the slots of one Redis Cluster. */
export interface TestCluster {
  /** As `REDIS_URL` names it. */
  url: string;
  nodes: TestRedis[];
  remove(): Promise<void>;
}

const slots = 16_384;
const formMsMax = 60_000;

/** Starts one on loopback ports, with nothing on disk but what the nodes know of each other. */
export async function startCluster(count = 3): Promise<TestCluster> {
  const nodes: TestRedis[] = [];
  const remove = async () => {
    for (const node of nodes) await node.remove();
  };
  try {
    for (let index = 0; index < count; index++) nodes.push(await launchNode());
    const [first] = nodes as [TestRedis];
    for (const [index, node] of nodes.entries()) {
      const from = Math.floor((index * slots) / count);
      const to = Math.floor(((index + 1) * slots) / count) - 1;
      await node.command("CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
      const ports = [first.port, busPortOf(first.port)].map(String);
      if (node !== first) await node.command("CLUSTER", "MEET", "127.0.0.1", ...ports);
    }
    for (const node of nodes) await untilFormed(node, count);
  } catch (error) {
    await remove();
    throw error;
  }
  return { url: nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(","), nodes, remove };
}

/** The port on which nodes speak with each other: beside the other one, for its usual place may be taken. */
const busPortOf = (port: number) => port + 1;

async function launchNode(): Promise<TestRedis> {
  const port = await twoFreePorts();
  const place = ["--cluster-port", String(busPortOf(port)), "--cluster-config-file", "nodes.conf"];
  return launchRedis({ port, flags: ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", ...place] });
}

async function untilFormed(node: TestRedis, count: number): Promise<void> {
  const deadline = Date.now() + formMsMax;
  while (true) {
    const info = await node.command("CLUSTER", "INFO");
    if (info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${count}`)) return;
    if (Date.now() > deadline) throw new Error(`The cluster did not form within ${formMsMax} ms: ${info}`);
    await Bun.sleep(20);
  }
}
