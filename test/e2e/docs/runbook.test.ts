import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ruleNames } from "../../../src/modules/alerts/rules.ts";
import { newDatabase, queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { readPage, root } from "./pages.ts";

interface Rules {
  groups: { rules: { alert: string; annotations: { runbook_url?: string } }[] }[];
}

const page = "docs/runbook.md";
const address = "https://github.com/modelgate/modelgate/blob/main/docs/runbook.md#";
const text = readPage(page);
const file = readFileSync(join(root, "deploy/prometheus/modelgate.rules.yaml"), "utf8");
const alerts = (Bun.YAML.parse(file) as Rules).groups.flatMap(({ rules }) => rules);

/** Sections by the anchors of their headings. */
const sections = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading = ""] = section.split("\n", 1);
      return [heading.toLowerCase().replaceAll(" ", "-"), section];
    }),
);

/** Names of alerts that stand below the heading of a section. */
const alertsOf = (section: string) =>
  [...(section.split("\n").find((line) => line.startsWith("`")) ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name);

test("the runbook_url of each Prometheus alert leads to the section of the runbook that names it", () => {
  const faults = alerts.filter(({ alert, annotations: { runbook_url: url = "" } }) => {
    const section = sections.get(url.slice(address.length)) ?? "";
    return !url.startsWith(address) || !alertsOf(section).includes(alert);
  });
  expect(alerts.length).toBeGreaterThan(15);
  expect(faults.map(({ alert }) => alert)).toEqual([]);
});

test("each alert of the gateway has one section of the runbook, and the runbook names none that there is not", () => {
  const named = [...sections.values()].flatMap(alertsOf);
  const known = [...ruleNames, ...alerts.map(({ alert }) => alert)];
  expect(named.toSorted()).toEqual(known.toSorted());
});

test("every log line, code and metric of the runbook exists", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const code = sources.map((name) => readFileSync(join(root, "src", name), "utf8")).join("\n");
  const words = new Set([...text.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, word = ""]) => word));
  const own = [...words].filter((word) => !word.startsWith("pg_") && !word.startsWith("synchronous_"));
  expect(own.length).toBeGreaterThan(30);
  const isInCode = (word: string) => new RegExp(`\\b(${word}|${word.replace(/^modelgate_/, "")})\\b`).test(code);
  expect(own.filter((word) => !isInCode(word))).toEqual([]);
});

test("each section of the runbook says what to do", () => {
  const silent = [...sections].filter(([, section]) => !/\*\*Do|^```sh/m.test(section)).map(([anchor]) => anchor);
  expect(silent).toEqual([]);
});

if (whyNoPostgres !== undefined) console.warn(`The statements of the runbook are not planned: ${whyNoPostgres}`);

test.skipIf(whyNoPostgres !== undefined)(
  "PostgreSQL understands each query of the runbook and of postgresql.md",
  async () => {
    const url = await newDatabase();
    const queries = [text, readPage("docs/postgresql.md")].flatMap((each) =>
      [...each.matchAll(/[`"](select [^`"]+)[`"]/g)].map(([, query = ""]) =>
        query.replaceAll("PID", "0").replaceAll("\\|", "|"),
      ),
    );
    expect(queries.length).toBeGreaterThan(8);
    const faults: string[] = [];
    for (const query of queries) {
      // It is planned, not run: some end sessions.
      await queryPostgres(url, `explain ${query}`).catch((error) =>
        faults.push(`${query}: ${(error as Error).message}`),
      );
    }
    expect(faults).toEqual([]);
  },
);
