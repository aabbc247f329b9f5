import { type ComponentType, useState } from "react";
import { useSearchParams } from "wouter";
import { useGateway } from "../../data/gateway.ts";
import { type Capability, isRetired, type Model, useModels } from "../../data/models.ts";
import { Callout } from "../../ui/callout.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { ChatPanel } from "./chat-panel.tsx";
import { ImagePanel } from "./image-panel.tsx";
import type { PanelProps } from "./panel.tsx";
import { SpeechPanel } from "./speech-panel.tsx";
import { TranscribePanel } from "./transcribe-panel.tsx";

const tabs = [
  ["chat", "Chat"],
  ["images", "Image"],
  ["speech", "Speech"],
  ["transcription", "Transcription"],
] as const satisfies readonly (readonly [Capability, string])[];
type Tab = (typeof tabs)[number][0];

const panels: Record<Tab, ComponentType<PanelProps>> = {
  chat: ChatPanel,
  images: ImagePanel,
  speech: SpeechPanel,
  transcription: TranscribePanel,
};

/** Models to be tried by hand, each with the same call for a terminal. */
export default function PlaygroundPage() {
  const models = useModels();
  const { data: gateway } = useGateway();
  return (
    <>
      <PageHead
        title="Playground"
        about="Try a model by hand. It makes real calls on your account, listed and charged as any other, by a key of its own that is good for an hour."
      />
      {gateway?.sandbox === true && (
        <div className="stack-gap">
          <Callout>
            This gateway is in sandbox mode: every answer is simulated, and nothing is spent at a provider.
          </Callout>
        </div>
      )}
      <Loaded state={models}>{({ data }) => <Panels models={data} />}</Loaded>
    </>
  );
}

function Panels({ models }: { models: readonly Model[] }) {
  const [params, setParams] = useSearchParams();
  const asked = models.find(({ id }) => id === params.get("model"));
  const [tab, setTab] = useState<Tab>(tabs.find(([name]) => name === asked?.capability)?.[0] ?? "chat");
  const offered = models.filter(({ capability }) => capability === tab).sort(byUse);
  const model = offered.find(({ id }) => id === asked?.id) ?? offered[0];
  const Panel = panels[tab];
  return (
    <div className="stack">
      <Segmented label="What to try" value={tab} options={tabs} onChoose={setTab} />
      {model === undefined ? (
        <div className="card">
          <Empty icon="models" title="No model of this kind is served now" />
        </div>
      ) : (
        <Panel key={tab} model={model} models={offered} onModel={(id) => setParams({ model: id }, { replace: true })} />
      )}
    </div>
  );
}

/** Free ones that are still in service stand first. */
function byUse(one: Model, other: Model): number {
  return (
    Number(isRetired(one)) - Number(isRetired(other)) ||
    Number(one.premium) - Number(other.premium) ||
    one.id.localeCompare(other.id)
  );
}
