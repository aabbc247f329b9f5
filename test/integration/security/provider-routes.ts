/** The rows of the authorization table for providers. */
export function providerRoutes<Row>(
  admin: (status: number, row?: { id?: () => string | Promise<string>; body?: unknown }) => Row,
  add: (body: object) => Promise<unknown>,
): Record<string, Row> {
  let count = 0;
  const toBody = (name: string) => {
    const models = [{ id: `${name}/model`, premium: false }];
    return { manifest: { baseUrl: "https://acme.example/v1", dialect: "openai", models } };
  };
  const newName = () => `acme-${++count}`;
  const newProvider = async () => {
    const name = newName();
    await add({ name, ...toBody(name) });
    return name;
  };
  const builtIn = () => "openai";
  const path = "/dashboard/api/admin/providers";
  const body = () => {
    const name = newName();
    return { name, ...toBody(name) };
  };
  return {
    [`GET ${path}`]: admin(200),
    [`POST ${path}`]: admin(200, { body }),
    // The environment sets SANDBOX.
    [`POST ${path}/sandbox`]: admin(409, { body: { setting: "on" } }),
    // What cannot be reached is an answer of the test, not of the route.
    [`POST ${path}/test`]: admin(200, { body: () => ({ ...body(), key: "provider-key" }) }),
    [`PATCH ${path}/:id`]: admin(200, { id: builtIn, body: { enabled: true } }),
    [`DELETE ${path}/:id`]: admin(200, { id: newProvider }),
    // It has no key.
    [`POST ${path}/:id/test`]: admin(409, { id: builtIn, body: {} }),
    [`POST ${path}/:id/keys`]: admin(200, { id: newProvider, body: { key: "provider-key" } }),
    [`POST ${path}/:id/keys/:key`]: admin(404, { id: builtIn, body: { key: "provider-key" } }),
    [`DELETE ${path}/:id/keys/:key`]: admin(404, { id: builtIn }),
  };
}
