import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { isEnded } from "../../../src/provider/model.ts";
import { expectError } from "../../support/expect-error.ts";
import { faultsOf, schemaMissing } from "../../support/openai-schema.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { simulated } from "../../support/simulated.ts";

interface WireModel {
  id: string;
  object: string;
  created: number;
  owned_by: string;
  capability: string;
  premium: boolean;
  retirement?: string;
}

const shared = useSandboxGateway();
const specFile = join(import.meta.dir, "../../../../shared/spec/model-gateway-api.md");

/** Model ids and premium flags of the specification's tables and sentences in part 2.10. */
function modelsOfSpec(): Map<string, boolean> {
  const text = readFileSync(specFile, "utf8");
  const part = text.slice(text.indexOf("### 2.10"), text.indexOf("## 3. States"));
  const models = new Map<string, boolean>();
  for (const line of part.split("\n")) {
    const cells = line
      .split("|")
      .map((cell) => cell.trim())
      .slice(1, -1);
    const flag = cells.find((cell) => cell === "Yes" || cell === "No");
    if (cells[0] !== undefined && flag !== undefined) models.set(cells[0], flag === "Yes");
    for (const [, id, premium] of line.matchAll(/`([^`]+)` \((premium|non-premium)\)/g)) {
      models.set(id as string, premium === "premium");
    }
  }
  return models;
}

describe("GET /models", () => {
  test("lists every model of the catalogue in OpenAI's envelope", async () => {
    const list = (await (await shared.gateway.ask("/models")).json()) as { data: WireModel[] };
    if (schemaMissing === undefined) expect(faultsOf("ListModelsResponse", list)).toEqual([]);
    // What its provider has ended by today is on no list.
    const models = simulated.flatMap(({ models }) => models).filter((model) => !isEnded(model, Date.now()));
    expect(list.data.map(({ id }) => id).sort()).toEqual(
      models.flatMap(({ id, aliases = [] }) => [id, ...aliases]).sort(),
    );
    // Ids in whose place clients write other names stand behind all of these; what has ended stands last.
    const present = list.data.filter(({ retirement }) => retirement !== "past").map(({ id }) => id);
    const codes = new Set(models.flatMap(({ id, upstreamId, aliases }) => (aliases?.includes(upstreamId) ? [id] : [])));
    const first = present.findIndex((id) => codes.has(id));
    expect(first).toBeGreaterThan(100);
    expect(present.slice(first).filter((id) => !codes.has(id))).toEqual([]);
  });

  test("describes each by a text id, its kind, the second it was made and its owner", async () => {
    const { data } = (await (await shared.gateway.ask("/models")).json()) as { data: WireModel[] };
    for (const { id, object, created, owned_by: owner } of data) {
      expect([id, object]).toEqual([String(id), "model"]);
      expect([id, Number.isInteger(created) && created > 0]).toEqual([id, true]);
      expect([id, typeof owner === "string" && owner !== ""]).toEqual([id, true]);
    }
  });

  test.skipIf(!existsSync(specFile))("lists every model of the specification with its premium flag", async () => {
    const { data } = (await (await shared.gateway.ask("/models")).json()) as { data: WireModel[] };
    const listed = new Map(data.map(({ id, premium }) => [id, premium]));
    const wanted = modelsOfSpec();
    expect(wanted.size).toBe(51);
    for (const [id, premium] of wanted) expect([id, listed.get(id)]).toEqual([id, premium]);
  });

  test("the bare array is there for who asks for it, and the alias says the same", async () => {
    const list = (await (await shared.gateway.ask("/models")).json()) as { data: WireModel[] };
    expect(await (await shared.gateway.ask("/models?format=array")).json()).toEqual(list.data);
    expect(await (await shared.gateway.ask("/v1/models")).json()).toEqual(list);
    const short = await fetch(`${shared.gateway.origin}/v1/models`, {
      headers: { authorization: `Bearer ${shared.gateway.key}` },
    });
    expect(await short.json()).toEqual(list);
  });

  test.each(["famA-4o-mini", "famA/oss-20b", "hostT/m2-bert-80M-32k-retrieval"])(
    "one is had by its id: %s",
    async (id) => {
      for (const path of [`/models/${id}`, `/models/${encodeURIComponent(id)}`]) {
        const model = (await (await shared.gateway.ask(path)).json()) as WireModel;
        if (schemaMissing === undefined) expect(faultsOf("Model", model)).toEqual([]);
        expect(model).toMatchObject({ id, object: "model" });
      }
    },
  );

  test("one that does not exist is 404", async () => {
    await expectError(await shared.gateway.ask("/models/nobody"), { status: 404, code: "model_not_found" });
  });

  test("needs a key, as /key does", async () => {
    for (const path of ["/models", "/v1/models", "/models/famA-4o", "/key"]) {
      await expectError(await shared.gateway.ask(path, { headers: { authorization: "" } }), { status: 401 });
    }
  });

  test("/key tells what is left", async () => {
    const key = (await (await shared.gateway.ask("/key")).json()) as Record<string, unknown>;
    expect(key).toMatchObject({ object: "key", wallet: { held_usd: "0" }, quota: { limit: 1_000_000_000 } });
  });
});

describe("what needs no key", () => {
  test.each(["/healthz", "/readyz"])("%s", async (path) => {
    expect((await fetch(shared.gateway.origin + path)).status).toBe(200);
  });
});
