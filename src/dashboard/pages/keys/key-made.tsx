import { useState } from "react";
import { useGateway } from "../../data/gateway.ts";
import { useModels } from "../../data/models.ts";
import { Callout } from "../../ui/callout.tsx";
import { Code, CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { languages, modelToTry, type SnippetLanguage, snippetOf } from "./snippets.ts";

/** The secret of a new key, this once, and how to use it. */
export function KeyMade({
  secret,
  model,
  onClose,
}: {
  secret: string;
  /** The first of those that it is bound to. */
  model: string | undefined;
  onClose: () => void;
}) {
  const [language, setLanguage] = useState<SnippetLanguage>("curl");
  const { data: gateway } = useGateway();
  const { data: models } = useModels();
  const baseUrl = `${location.origin}${gateway?.base_path ?? "/v1"}`;
  const shown = model ?? modelToTry(models?.data ?? []);
  return (
    <Dialog title="Your new API key" isWide isConfirmed onClose={onClose}>
      <div className="dialog-body">
        <Callout tone="warn">
          Copy it now and keep it where secrets are kept. It is shown this once; whoever has it can spend from your
          account.
        </Callout>
        <div className="secret">
          <code data-secret>{secret}</code>
          <CopyButton text={secret} label="Copy the key" />
        </div>
        <dl className="facts">
          <dt>Base URL</dt>
          <dd className="mono">{baseUrl}</dd>
        </dl>
        {shown !== undefined && (
          <div className="stack stack-tight">
            <div className="row row-apart">
              <h3>Try it</h3>
              <Segmented label="Language" value={language} options={languages} onChoose={setLanguage} />
            </div>
            <Code
              text={snippetOf(language, { baseUrl, key: secret, model: shown })}
              label={`the ${language} example`}
            />
          </div>
        )}
      </div>
      <footer className="dialog-foot">
        <button type="button" className="btn btn-primary" onClick={onClose}>
          I have kept it
        </button>
      </footer>
    </Dialog>
  );
}
