import { useState } from "react";
import { callApiWithJson, refreshUsage } from "../../data/playground-key.ts";
import { Callout, Empty } from "../../ui/feedback.tsx";
import { Field, SelectField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ModelField, Panel, type PanelProps, toCurl, useBaseUrl } from "./panel.tsx";

interface Images {
  readonly data: readonly { readonly b64_json: string; readonly revised_prompt?: string }[];
}

const qualities = [
  ["standard", "Standard"],
  ["hd", "HD"],
] as const;
const sizes = ["1024x1024", "512x512", "1536x1024", "1024x1536"];

/** Image generation. */
export function ImagesPanel(props: PanelProps) {
  const [prompt, setPrompt] = useState("");
  const [size, setSize] = useState("1024x1024");
  const [quality, setQuality] = useState("standard");
  const [images, setImages] = useState<Images>();
  const baseUrl = useBaseUrl();
  const body = { model: props.model.id, prompt: prompt === "" ? "A lighthouse at dusk" : prompt, size, quality };
  const { run, isBusy, formError } = useAction(async () => {
    try {
      // As base64, so that no image is stored on the gateway.
      const response = await callApiWithJson("/images/generations", { ...body, response_format: "b64_json" });
      setImages((await response.json()) as Images);
    } finally {
      refreshUsage();
    }
  });
  return (
    <Panel
      curl={toCurl(`${baseUrl}/images/generations`, body)}
      settings={
        <>
          <ModelField {...props} />
          <SelectField label="Size" value={size} options={sizes.map((name) => [name, name])} onText={setSize} />
          <SelectField label="Quality" value={quality} options={qualities} onText={setQuality} />
        </>
      }
    >
      <section className="card card-body stack" aria-label="Image">
        <Field label="Prompt">
          {(control) => (
            <textarea
              {...control}
              className="input"
              rows={3}
              placeholder="A lighthouse at dusk"
              value={prompt}
              onChange={(event) => setPrompt(event.target.value)}
            />
          )}
        </Field>
        <div className="row">
          <button
            type="button"
            className="btn btn-primary"
            disabled={isBusy || prompt.trim() === ""}
            onClick={() => void run()}
          >
            <Icon name="image" size={15} />
            {isBusy ? "Generating…" : "Generate image"}
          </button>
        </div>
        <Callout tone="bad">{formError()}</Callout>
        {images === undefined ? (
          <Empty icon="image" title="No image yet" />
        ) : (
          images.data.map(({ b64_json, revised_prompt }) => (
            <figure key={b64_json.slice(-80)} className="picture">
              <img src={`data:${detectImageType(b64_json)};base64,${b64_json}`} alt={revised_prompt ?? prompt} />
              {revised_prompt !== undefined && <figcaption className="faint">{revised_prompt}</figcaption>}
            </figure>
          ))
        )}
      </section>
    </Panel>
  );
}

/** Detected from the first bytes; the response does not say. */
function detectImageType(base64: string): string {
  if (base64.startsWith("/9j/")) return "image/jpeg";
  return base64.startsWith("UklGR") ? "image/webp" : "image/png";
}
