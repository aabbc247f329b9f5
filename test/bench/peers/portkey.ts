import { join } from "node:path";
import type { Contender } from "./contender.ts";
import { installOnce, versionOf } from "./install.ts";

const version = "1.15.2";
/** Of its own choice of versions, later ones answer every stream with 500. */
const overrides = { hono: "4.9.7", "@hono/node-server": "1.13.5" };

export async function portkey(): Promise<Contender> {
  const node = await versionOf("node", "--version");
  const folder = await installOnce(`portkey-${version}`, async (into) => {
    const manifest = { private: true, dependencies: { "@portkey-ai/gateway": version }, overrides };
    await Bun.write(join(into, "package.json"), JSON.stringify(manifest));
    return [{ command: ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"] }];
  });
  const program = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  return {
    name: "Portkey",
    version: `${version}, Node ${node}`,
    without: "keys, validation, limits, money, books",
    commandAt: async ({ port, caFile }) => ({
      command: ["node", program, `--port=${port}`, "--headless"],
      env: { NODE_ENV: "production", ...(caFile !== undefined && { NODE_EXTRA_CA_CERTS: caFile }) },
    }),
    asking: ({ provider }, protocol) => ({
      headers: {
        "x-portkey-provider": protocol === "messages" ? "anthropic" : "openai",
        "x-portkey-custom-host": `${provider}/v1`,
      },
    }),
  };
}
