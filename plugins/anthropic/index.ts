import { anthropic, definePlugin, readModels } from "modelgate/plugin";
import rows from "../../catalogue/anthropic.json" with { type: "json" };
import current from "./catalogue.json" with { type: "json" };

/** Later versions do without `temperature`: https://platform.claude.com/docs/en/api/versioning */
const headers = { "anthropic-version": "2023-06-01" };

export default definePlugin({
  name: "anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  authorize: (_, { key }) => ({ "x-api-key": key, ...headers }),
  models: readModels([...rows.models, ...current.models]),
  ...anthropic({ headers, takesRequestMark: true }),
});
