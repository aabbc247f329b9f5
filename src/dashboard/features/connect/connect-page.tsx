import { useState } from "react";
import { Link } from "wouter";
import { useBaseUrl } from "../../data/api.ts";
import { useMayChange } from "../../data/roles.ts";
import { Button } from "../../kit/button.tsx";
import { Code, CopyButton } from "../../kit/copy.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { PasswordField, SelectField } from "../../kit/field.tsx";
import { Fact, PageHead, Section } from "../../kit/page.tsx";
import { useChoice, useParam } from "../../kit/url-state.ts";
import { NewKeyDialog } from "../keys/key-dialogs.tsx";
import { byName, type Model, useModels } from "../models/api.ts";
import { isRetired } from "../models/retirement.ts";
import { clientChoices, createSnippet, getClient } from "./snippets.ts";
import { useExampleModel, useSmallModel } from "./use-example-model.ts";

/** The text of an example where the reader's own key belongs. */
const placeholder = "YOUR_API_KEY";

/** How to call this gateway from any client; the client and the model are in the address. */
export default function ConnectPage() {
  const models = useModels();
  const baseUrl = useBaseUrl();
  const mayChange = useMayChange();
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <PageHead
        title="Connect"
        description="Every client of OpenAI or Anthropic works with this gateway: give it the base URL, a key and a model."
      >
        {mayChange && (
          <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
            Create API key
          </Button>
        )}
      </PageHead>
      <div className="stack">
        <Section title="Base URL">
          <dl className="facts card-body">
            <Address name="OpenAI's protocols" url={baseUrl} />
            <Address name="Anthropic's Messages" url={new URL(baseUrl).origin} />
          </dl>
        </Section>
        <Loaded state={models} lines={8}>
          {({ data }) => <Examples models={data} baseUrl={baseUrl} />}
        </Loaded>
      </div>
      {isCreating && <NewKeyDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function Address({ name, url }: { name: string; url: string }) {
  return (
    <Fact name={name} className="row">
      <code>{url}</code>
      <CopyButton text={url} label={`Copy the base URL for ${name}`} />
    </Fact>
  );
}

function Examples({ models, baseUrl }: { models: readonly Model[]; baseUrl: string }) {
  const [client, setClient] = useChoice("client", clientChoices);
  const [modelName, setModelName] = useParam("model");
  /** Only in the memory of the page. */
  const [key, setKey] = useState("");
  const chats = models.filter(({ capability }) => capability === "chat").sort(byName);
  const { name, maker, file } = getClient(client);
  const example = useExampleModel(maker);
  const model = chats.find((each) => each.name === modelName || each.id === modelName) ?? example;
  const smallModel = useSmallModel(model)?.name;
  return (
    <Section title="Examples">
      <div className="stack card-body">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would draw its legend in the border */}
        <div className="row" role="group" aria-label="Client">
          {clientChoices.map(([each, label]) => (
            <Button
              key={each}
              look={each === client ? "small primary" : "small"}
              aria-pressed={each === client}
              onClick={() => setClient(each)}
            >
              {label}
            </Button>
          ))}
        </div>
        <div className="split">
          <SelectField
            label="Model"
            options={chats.map((each) => [each.name, toLabel(each)] as const)}
            value={model?.name ?? ""}
            onText={setModelName}
            hint={
              <>
                <Link href={model === undefined ? "/models" : `/models?model=${encodeURIComponent(model.id)}`}>
                  Price, limits and features
                </Link>
                {model?.premium === true && "; it is paid from the wallet"}
              </>
            }
          />
          <PasswordField
            label="API key"
            name="key"
            autoComplete="off"
            placeholder="sk-mg-…"
            value={key}
            onText={setKey}
            hint="Paste a key to fill it in below. It stays on this page."
          />
        </div>
        {file !== undefined && <p className="soft">{file}:</p>}
        {model === undefined ? (
          <p className="faint">This gateway has no chat model yet.</p>
        ) : (
          <Code
            text={createSnippet(client, {
              baseUrl,
              key: key.trim() || placeholder,
              model: model.name,
              smallModel,
              facts: model,
            })}
            label={`${name} example`}
          />
        )}
      </div>
    </Section>
  );
}

function toLabel(model: Model): string {
  return isRetired(model) ? `${model.name} (retired)` : model.name;
}
