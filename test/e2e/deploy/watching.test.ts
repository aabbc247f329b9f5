import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { metricsOf } from "../../support/prometheus-text.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const folder = join(import.meta.dir, "../../../deploy");
const rulesFile = join(folder, "prometheus/modelgate.rules.yaml");

interface Rules {
  groups: {
    rules: { alert: string; expr: string; labels: Record<string, string>; annotations: Record<string, string> }[];
  }[];
}
interface Dashboard {
  panels: { id: number; title: string; type: string; targets?: { expr: string }[] }[];
}

const rules = (Bun.YAML.parse(await Bun.file(rulesFile).text()) as Rules).groups.flatMap((group) => group.rules);
const { panels } = (await Bun.file(join(folder, "grafana/modelgate.json")).json()) as Dashboard;
const drawn = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

const metricsIn = (texts: string[]) =>
  new Set(texts.flatMap((text) => text.match(/\b(modelgate|process)_[a-z_]+/g) ?? []));

describe("what looks at the metrics", () => {
  const shared = useSandboxGateway({ METRICS_PORT: "0" });
  const families = new Set<string>();
  beforeAll(async () => {
    const scrape = await (await fetch(await metricsOf(shared.gateway))).text();
    for (const [, name = ""] of scrape.matchAll(/^# TYPE ([a-z_]+)/gm)) families.add(name);
  });

  const familyOf = (name: string) => (families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ""));

  test("every metric of the alerts and of the dashboard is in a real scrape", () => {
    const used = metricsIn([...drawn, ...rules.map(({ expr }) => expr)]);
    expect(used.size).toBeGreaterThan(25);
    expect([...used].filter((name) => !families.has(familyOf(name)))).toEqual([]);
  });

  test("every metric of a scrape is drawn or alerted on, except two that are for information only", () => {
    const used = new Set([...metricsIn([...drawn, ...rules.map(({ expr }) => expr)])].map(familyOf));
    const unused = [...families].filter((name) => !used.has(name)).sort();
    expect(unused).toEqual(["modelgate_models", "process_start_time_seconds"]);
  });

  test("every metric of docs/observability.md is in a real scrape, and the other way round", async () => {
    const page = await Bun.file(join(folder, "../docs/observability.md")).text();
    const told = metricsIn([page]);
    expect([...told].filter((name) => !families.has(name))).toEqual([]);
    expect([...families].filter((name) => name.startsWith("modelgate_") && !told.has(name))).toEqual([]);
  });
});

test("each alert has a name of its own, a severity, and says what to do", () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, labels, annotations } of rules) {
    expect(alert).toMatch(/^Modelgate[A-Z]\w+$/);
    expect(["critical", "warning", "info"]).toContain(labels.severity as string);
    expect(annotations.summary?.length).toBeGreaterThan(10);
    expect(annotations.what_to_do?.length).toBeGreaterThan(10);
  }
});

test("each panel has an id of its own, and each that draws has something to draw", () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const empty = panels.filter(({ type, targets }) => type !== "row" && !targets?.length);
  expect(empty.map(({ title }) => title)).toEqual([]);
});

const promtool = Bun.which("promtool");
if (promtool === null) console.warn("The alert rules are read as YAML alone: there is no promtool here");

function checkRules(file: string) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([promtool as string, "check", "rules", file]);
  return { exitCode, said: `${stdout}${stderr}` };
}

test.skipIf(promtool === null)("promtool finds no fault with the rules", () => {
  expect(checkRules(rulesFile)).toEqual({ exitCode: 0, said: expect.stringContaining(`${rules.length} rules found`) });
});

/** Samples of a minute each, from a start on; `x` beside a number repeats it. */
const callSeries = (values: Record<string, string>) =>
  Object.entries(values).map(([status, samples]) => ({
    series: `modelgate_calls_total{instance="a", job="modelgate", model="m", status="${status}"}`,
    values: samples,
  }));

test.skipIf(promtool === null)(
  "alerts about the store and failing calls fire when they have to, and no longer",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "modelgate-rules-"));
    const at = (minutes: number, alert: string, isFiring: boolean) => ({
      eval_time: `${minutes}m`,
      expr: `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`,
      exp_samples: [{ labels: "{}", value: isFiring ? 1 : 0 }],
    });
    const tests = [
      {
        name: "calls fail for five minutes",
        interval: "1m",
        input_series: callSeries({ "200": "0+60x10 600x5 600+60x20", "503": "0x10 0+60x5 300x20" }),
        promql_expr_test: [
          at(10, "ModelgateCallsFail", false),
          at(13, "ModelgateCallsFail", true),
          at(19, "ModelgateCallsFail", false),
        ],
      },
      {
        name: "a few fail of many",
        interval: "1m",
        input_series: callSeries({ "200": "0+100x30", "500": "0+4x30" }),
        promql_expr_test: [at(20, "ModelgateCallsFail", false)],
      },
      {
        name: "a process shuts down",
        interval: "1m",
        input_series: [
          ...callSeries({ "200": "0+10x30", "503": "0+60x30" }),
          { series: 'modelgate_draining{instance="a", job="modelgate"}', values: "1x30" },
        ],
        promql_expr_test: [at(20, "ModelgateCallsFail", false)],
      },
      {
        name: "the store takes no writes",
        interval: "15s",
        input_series: [{ series: 'modelgate_store_up{instance="a", store="postgres"}', values: "1x4 0x8 1x8" }],
        promql_expr_test: [
          at(1, "ModelgateBooksUnwritable", false),
          at(2, "ModelgateBooksUnwritable", true),
          at(4, "ModelgateBooksUnwritable", false),
        ],
      },
    ];
    const file = join(folder, "tests.yaml");
    try {
      await Bun.write(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: "15s", tests }));
      const { exitCode, stdout, stderr } = Bun.spawnSync([promtool as string, "test", "rules", file]);
      const output = `${stdout}${stderr}`;
      expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining("SUCCESS") });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test.skipIf(promtool === null)("promtool finds no fault with what the dashboard draws", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "modelgate-dashboard-")), "rules.yaml");
  try {
    const plain = drawn.map((expr) => expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"));
    const asRules = plain.map((expr, index) => ({ record: `drawn_${index}`, expr }));
    await Bun.write(file, JSON.stringify({ groups: [{ name: "drawn", rules: asRules }] }));
    expect(checkRules(file)).toEqual({ exitCode: 0, said: expect.stringContaining(`${drawn.length} rules found`) });
  } finally {
    rmSync(dirname(file), { recursive: true, force: true });
  }
});
