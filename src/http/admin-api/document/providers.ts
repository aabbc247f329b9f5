import { isDeepStrictEqual } from "node:util";
import { Type } from "@sinclair/typebox";
import { GatewayError, quoteValue } from "../../../contract/index.ts";
import { bodyFields } from "../../../lib/fields.ts";
import { readJson } from "../../../lib/json.ts";
import { checkManifest, providerFields, toProviderJson } from "../../../providers/index.ts";
import { invalid } from "../lists.ts";
import { closed, diff, expectOnce, isSame, Status, Text } from "./plan-entries.ts";
import { defineSection, type Step } from "./section.ts";

const ProviderEntry = Type.Object(
  {
    name: Text(60),
    status: { ...Status, description: "For providers that were added here" },
    manifest: Type.Optional(
      Type.Unknown({ description: "For providers that are added here; keys are set separately" }),
    ),
    ...bodyFields(providerFields),
  },
  closed,
);

/** The providers that were added or set here, without their keys. */
export const providers = defineSection({
  schema: Type.Array(ProviderEntry, { maxItems: 200 }),
  area: "providers",
  read: (deps) =>
    [...deps.providers.settings.rows.values()]
      .filter(({ isRemoved }) => !isRemoved)
      .map(({ name, manifest, ...row }) => {
        const { uses_stored_keys: isStored, ...order } = toProviderJson(row);
        const text = manifest === undefined ? {} : { manifest: readJson(manifest, "file") };
        return { name, ...text, ...order, ...(isStored && { uses_stored_keys: true }) };
      }),
  plan({ deps, admin, providers: planned }, entries) {
    const { actions, settings } = deps.providers;
    expectOnce(
      "providers",
      entries.map(({ name }) => name),
    );
    const steps: Step[] = [];
    for (const { name, manifest, status = "present", ...order } of entries) {
      const row = settings.rows.get(name);
      const isThere = row !== undefined && !row.isRemoved;
      const isKnown = deps.snapshot().plugins.some((plugin) => plugin.name === name);
      if (status === "removed") {
        if (!isThere || row.manifest === undefined) continue;
        planned.removed.push(name);
        steps.push({ id: name, action: "remove", fields: {}, run: () => actions.remove(admin.accountId, name) });
        continue;
      }
      const text = isThere ? row.manifest : undefined;
      const isNew = manifest !== undefined && text === undefined && !isKnown;
      const before = text === undefined ? undefined : readJson(text, "file");
      const isReplaced = manifest !== undefined && before !== undefined && !isDeepStrictEqual(before, manifest);
      if (isNew || isReplaced) planned.added.push(checkManifest(name, manifest, admin.role === "owner").plugin);
      if (manifest === undefined && !isKnown && !isThere) {
        throw invalid("providers", `No provider is called ${quoteValue(name)}; add it by a manifest`);
      }
      const orderFields = diff(isThere ? toProviderJson(row) : { enabled: true, uses_stored_keys: false }, order);
      const fields = { ...orderFields, ...(isReplaced && { manifest: { before, after: manifest } }) };
      if (!isNew && isSame(fields)) continue;
      steps.push({
        id: name,
        action: isNew ? "create" : "change",
        fields,
        async run() {
          if (isNew) await actions.add(admin, name, manifest);
          if (isReplaced) await actions.replaceManifest(admin, name, manifest);
          if (!isSame(orderFields)) await actions.set(admin.accountId, name, order);
        },
      });
    }
    return steps;
  },
});

/** Whether answers are simulated. */
export const sandbox = defineSection({
  schema: Type.Union([Type.Literal("on"), Type.Literal("off"), Type.Literal("auto")]),
  area: "providers",
  read: ({ providers: { settings } }) =>
    settings.sandbox.source === "environment" ? undefined : settings.sandbox.setting,
  plan({ deps, admin }, setting) {
    const { actions, settings } = deps.providers;
    if (setting === settings.sandbox.setting) return [];
    if (settings.sandbox.source === "environment") {
      throw new GatewayError("conflict", "SANDBOX is set in the environment, which decides; unset it first");
    }
    return [
      {
        id: "sandbox",
        action: "change",
        fields: { sandbox: { before: settings.sandbox.setting, after: setting } },
        run: () => actions.setSandbox(admin.accountId, setting),
      },
    ];
  },
});
