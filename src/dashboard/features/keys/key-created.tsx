import { useState } from "react";
import { Link } from "wouter";
import { useBaseUrl } from "../../data/api.ts";
import { Code, Secret } from "../../kit/copy.tsx";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { Fact } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { type ClientName, createSnippet, getClient, newKeyClients } from "../connect/snippets.ts";
import { useExampleModel, useSmallModel } from "../connect/use-example-model.ts";
import { useModels } from "../models/api.ts";

/** Shows the secret of a new key, once, with examples. */
export function KeyCreated({
  title = "API key created",
  secret,
  allowed,
  onClose,
}: {
  title?: string;
  secret: string;
  /** The models of the key; absent: all. */
  allowed: readonly string[] | undefined;
  onClose: () => void;
}) {
  const [language, setLanguage] = useState<ClientName>("curl");
  const baseUrl = useBaseUrl();
  const { data: models } = useModels();
  const example = useExampleModel(getClient(language).maker);
  const [first] = allowed ?? [];
  const model = first === undefined ? example : models?.data.find(({ id, name }) => id === first || name === first);
  const shown = model?.name ?? first;
  const smallModel = useSmallModel(model, allowed)?.name;
  return (
    <Dialog title={title} isWide isPersistent onClose={onClose}>
      <DialogContent label="I've saved it" onClose={onClose}>
        <Callout tone="warn">
          Copy the key now and store it safely; it will not be shown again. Anyone who has it can spend from your
          account.
        </Callout>
        <Secret text={secret} label="key" />
        <dl className="facts">
          <Fact name="Base URL" className="mono">
            {baseUrl}
          </Fact>
        </dl>
        {shown !== undefined && (
          <div className="stack stack-tight">
            <div className="row row-apart">
              <h3>Try it</h3>
              <Segmented label="Language" value={language} options={newKeyClients} onChoose={setLanguage} />
            </div>
            <p className="soft">
              More clients are on <Link href="/connect">Connect</Link>.
            </p>
            <Code
              text={createSnippet(language, { baseUrl, key: secret, model: shown, smallModel })}
              label={`${getClient(language).name} example`}
            />
          </div>
        )}
      </DialogContent>
    </Dialog>
  );
}
