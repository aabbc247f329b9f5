import { anthropic, definePlugin, readModels } from "modelgate/plugin";
import rows from "../../catalogue/anthropic.json" with { type: "json" };
import current from "../../catalogue/current/anthropic.json" with { type: "json" };

export default definePlugin({
  name: "anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  authorize: (_, { key }) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  models: readModels([...rows.models, ...current.models]),
  ...anthropic(),
});
