import { expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { withAdmin } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const changeOf = (detail: object) => ({ action: "account.change", detail });

test("an administrator sets the models of an account, which are in force at once for all of its keys", async () => {
  const { admin, ada, accounts } = await withAdmin();
  const { key } = await accounts.createKey({ accountId: ada.account.id, name: "laptop", allowedModels: ["chat-2"] });
  const path = `/v1/organization/projects/${ada.account.id}`;
  const listsOf = async () => {
    const { allowedModels, accountModels } = await accounts.authenticate(key);
    return [allowedModels, accountModels];
  };
  expect(await listsOf()).toEqual([new Set(["chat-2"]), undefined]);
  const shown = async () =>
    (await (await ada.get("/dashboard/api/models")).json()).data.map(({ id }: { id: string }) => id);
  const all = await shown();
  expect(all).toContain("chat-1");
  expect((await admin.post(path, { allowed_models: ["chat-1", "fast", "chat-1"] })).status).toBe(200);
  expect(await listsOf()).toEqual([new Set(["chat-2"]), new Set(["chat-1", "fast"])]);
  expect(await (await admin.get(`/dashboard/api/admin/accounts/${ada.account.id}`)).json()).toMatchObject({
    allowed_models: ["chat-1", "fast"],
  });
  expect(await shown()).toEqual(["chat-1"]);
  // The same list again, and what is about other fields, changes nothing of it.
  expect((await admin.post(path, { allowed_models: ["chat-1", "fast"] })).status).toBe(200);
  expect((await admin.post(path, { name: "Ada" })).status).toBe(200);
  expect((await admin.post(path, { allowed_models: null })).status).toBe(200);
  expect(await listsOf()).toEqual([new Set(["chat-2"]), undefined]);
  expect(await shown()).toEqual(all);
  const { data } = await (await admin.get("/dashboard/api/admin/audit")).json();
  expect(data).toHaveLength(3);
  expect(data).toContainEqual(expect.objectContaining(changeOf({ models: "chat-1, fast", models_before: null })));
  expect(data).toContainEqual(expect.objectContaining(changeOf({ models: null, models_before: "chat-1, fast" })));
});

test("a list of nothing is refused, and the holder sets none", async () => {
  const { admin, ada, accounts } = await withAdmin();
  const path = `/v1/organization/projects/${ada.account.id}`;
  for (const allowed_models of [[], [""], "chat-1", [1]]) {
    await expectError(await admin.post(path, { allowed_models }), { status: 400, code: "invalid_request" });
  }
  await expectError(await ada.post(path, { allowed_models: ["chat-1"] }), { status: 403, code: "forbidden" });
  expect(await accounts.find(ada.account.id)).toMatchObject({ allowedModels: undefined });
});
