import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import rows from "../../catalogue/openai.json" with { type: "json" };
import { decisionsHandler } from "../../src/protocols/decisions/passthrough.ts";
import current from "./catalogue.json" with { type: "json" };
import { endpoints } from "./options.ts";

const handlers = openai(endpoints);
/** The models that its `POST /decisions` takes are those that have a price there. */
const withDecisions = { handlers: { ...handlers, decisions: decisionsHandler({}) } };

export default definePlugin({
  name: "openai",
  baseUrl: "https://api.openai.com/v1",
  models: readModels([...rows.models, ...current.models]),
  modelOptions: openaiModelOptions,
  handlers,
  forModel: ({ price }) => (price?.serviceTiers?.decisions === undefined ? undefined : withDecisions),
  takes: ["tokenInput", "customTools"],
});
