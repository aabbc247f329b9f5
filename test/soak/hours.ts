/**
 * Hours of mixed traffic on an embedded gateway, with plugins that are replaced and keys that are revoked all the time:
 * `bun test/soak/hours.ts --hours 4 --rate 50` prints a line for each hour (`--minutes 10` for each ten minutes) and fails
 * where a call ends as it must not, or where the ledger is not in order at the end.
 */
import { parseArgs } from "node:util";
import { startGateway } from "../support/gateway.ts";
import { probed } from "./heap-probe.ts";
import { startSoakProvider } from "./provider.ts";
import { disturbed, prepare } from "./soak.ts";
import { keptBy, Watch } from "./vitals.ts";

const { values } = parseArgs({
  options: {
    hours: { type: "string", default: "4" },
    minutes: { type: "string", default: "60" },
    rate: { type: "string", default: "50" },
  },
});
const sliceSeconds = Number(values.minutes) * 60;
const slices = Math.round((Number(values.hours) * 3600) / sliceSeconds);
const sampleMs = 1000;
const restMs = 5000;

const provider = await startSoakProvider();
const env = { OPENAI_API_KEY: "upstream-key", OPENAI_BASE_URL: provider.baseUrl, LOG_LEVEL: "error", ...probed };
const gateway = await startGateway({ env });
const counts = { reloads: 0, revocations: 0 };
const order = {
  gateways: [gateway],
  provider,
  callsPerSecond: Number(values.rate),
  reloadMs: 10_000,
  revokeMs: 30_000,
};
let isWhole = true;
let calls = 0;
try {
  await prepare(order);
  for (let slice = 1; slice <= slices; slice++) {
    const watch = new Watch([gateway.pid], sampleMs);
    const report = await disturbed(order, sliceSeconds, counts);
    const [traffic] = watch.end();
    const rest = await keptBy(gateway.pid, restMs);
    calls += report.calls;
    if (report.unexplained.length > 0) isWhole = false;
    const memory = `RSS ${traffic?.firstMb.toFixed(0)} and ${traffic?.secondMb.toFixed(0)} MB, most ${traffic?.mostMb.toFixed(0)}`;
    const kept = `at rest ${rest.rssMb.toFixed(0)} MB, heap ${rest.heapMb.toFixed(1)} MB, ${rest.handles} handles`;
    const failures = `${report.unexplained.length} wrong, ${report.busy} refused as busy`;
    process.stdout.write(`${(slice * sliceSeconds) / 60} min: ${calls} calls, ${memory}; ${kept}; ${failures}\n`);
    for (const each of report.unexplained.slice(0, 5)) process.stdout.write(`  ${JSON.stringify(each)}\n`);
  }
  const { code, stdout, stderr } = await gateway.run("ledger", "verify");
  process.stdout.write(`${counts.reloads} reloads, ${counts.revocations} keys revoked\n${stdout}${stderr}`);
  if (code !== 0) isWhole = false;
} finally {
  await gateway.stop();
  await provider.stop();
}
process.exit(isWhole ? 0 : 1);
