import { definePlugin, readModels } from "modelgate/plugin";
import rows from "../../catalogue/sarvam.json" with { type: "json" };
import { chat } from "./chat.ts";
import { speak, toSpeechBody } from "./speak.ts";
import { transcribe } from "./transcribe.ts";

export default definePlugin({
  name: "sarvam",
  baseUrl: "https://api.sarvam.ai",
  authorize: (key) => ({ "api-subscription-key": key }),
  models: readModels(rows),
  handlers: { chat, transcribe, speak },
  checks: { speak: (asked) => void toSpeechBody({ ...asked, note: () => undefined }) },
});
