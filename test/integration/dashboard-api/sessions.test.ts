import { expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";

const api = "/dashboard/api/sessions";

test("a user lists their sessions and ends another one", async () => {
  const { enter, send, store } = await dashboardHttp();
  const ada = await enter("ada@example.org");
  const [row] = await store.db.selectFrom("sessions").selectAll().execute();
  const agent = "<script>alert(1)</script> on a phone";
  const other = { ...row, id: "other", token: "other", user_agent: agent } as NonNullable<typeof row>;
  const over = { ...other, id: "over", token: "over", expires_at: "2020-01-01T00:00:00.000Z" };
  await store.db.insertInto("sessions").values([other, over]).execute();
  const { data } = await (await ada.get(api)).json();
  expect(data).toHaveLength(2);
  expect(data).toContainEqual(expect.objectContaining({ id: "other", user_agent: agent, is_this_one: false }));
  expect(data).toContainEqual(expect.objectContaining({ id: row?.id, user_agent: null, is_this_one: true }));
  expect(JSON.stringify(data)).not.toContain(row?.token);
  expect((await ada.remove(`${api}/other`)).status).toBe(200);
  await expectError(await ada.remove(`${api}/other`), { status: 404 });
  expect((await ada.remove(`${api}/${row?.id}`)).status).toBe(200);
  await expectError(await send(api, { headers: { cookie: ada.cookie } }), { status: 401 });
});
