import type { ComponentType } from "react";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { setParams, useParam } from "../../kit/url-state.ts";
import { type Model, useModels } from "../models/api.ts";
import { isRetired } from "../models/retirement.ts";
import { ChatPanel } from "./chat-panel.tsx";
import { DecisionsPanel } from "./decisions-panel.tsx";
import { ImagesPanel } from "./images-panel.tsx";
import { ModerationPanel } from "./moderation-panel.tsx";
import type { PanelProps } from "./panel.tsx";
import { RerankPanel } from "./rerank-panel.tsx";
import { SpeechPanel } from "./speech-panel.tsx";
import { TranscriptionPanel } from "./transcription-panel.tsx";

const tabs = [
  ["chat", "Chat"],
  ["decisions", "Decisions"],
  ["images", "Images"],
  ["speech", "Speech"],
  ["transcription", "Transcription"],
  ["moderation", "Moderation"],
  ["rerank", "Rerank"],
] as const;
type Tab = (typeof tabs)[number][0];

const panels: Record<Tab, ComponentType<PanelProps>> = {
  chat: ChatPanel,
  decisions: DecisionsPanel,
  images: ImagesPanel,
  speech: SpeechPanel,
  transcription: TranscriptionPanel,
  moderation: ModerationPanel,
  rerank: RerankPanel,
};

/** Tries out models interactively, and shows each request as curl. */
export default function PlaygroundPage() {
  const models = useModels();
  return (
    <>
      <PageHead
        title="Playground"
        description="Try out a model. Calls are charged and listed like any other; they use a temporary API key that expires after an hour."
      />
      <Loaded state={models}>{({ data }) => <Panels models={data} />}</Loaded>
    </>
  );
}

function Panels({ models }: { models: readonly Model[] }) {
  const [modelName] = useParam("model");
  const requested = models.find(({ id, name }) => id === modelName || name === modelName);
  const ofModel = tabs.find(([name]) => name === requested?.capability)?.[0] ?? "chat";
  const [tabName] = useParam("tab");
  const tab = tabs.find(([name]) => name === tabName)?.[0] ?? ofModel;
  // Models are called by the names that people know.
  const offered = models
    .filter((each) => isOffered(each, tab))
    .sort(byUse)
    .map((each): Model => ({ ...each, id: each.name }));
  const model = offered.find(({ id }) => id === requested?.name) ?? offered[0];
  const Panel = panels[tab];
  return (
    <div className="stack">
      <Segmented
        label="Capability"
        value={tab}
        options={tabs}
        onChoose={(next) => setParams({ tab: next, model: "", compare: "", task: "" })}
      />
      {model === undefined ? (
        <div className="card">
          <Empty icon="models" title="No models available for this capability" />
        </div>
      ) : (
        <Panel key={tab} model={model} models={offered} onModel={(id) => setParams({ model: id })} />
      )}
    </div>
  );
}

/** Decisions are made by the chat models that hold their answer to a JSON schema. */
function isOffered({ capability, features }: Model, tab: Tab): boolean {
  if (tab !== "decisions") return capability === tab;
  return capability === "chat" && features?.includes("json_schema") !== false;
}

/** Retired models last, those for English first, since the examples are English; then free models. */
function byUse(one: Model, other: Model): number {
  return (
    Number(isRetired(one)) - Number(isRetired(other)) ||
    Number(isForeign(one)) - Number(isForeign(other)) ||
    Number(one.premium) - Number(other.premium) ||
    one.name.localeCompare(other.name)
  );
}

function isForeign({ languages }: Model): boolean {
  return languages !== undefined && !languages.some((language) => language.startsWith("en"));
}
