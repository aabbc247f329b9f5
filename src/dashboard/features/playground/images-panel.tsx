import { useState } from "react";
import { useBaseUrl } from "../../data/api.ts";
import { SelectField, TextAreaField } from "../../kit/field.tsx";
import { CallCard, ModelField, Panel, type PanelProps, toCurl } from "./panel.tsx";
import { callApiWithJson } from "./playground-key.ts";

interface Images {
  readonly data: readonly { readonly b64_json: string; readonly revised_prompt?: string }[];
}

const qualities = [
  ["standard", "Standard"],
  ["hd", "HD"],
] as const;
const sizes = ["1024x1024", "512x512", "1536x1024", "1024x1536"];

export function ImagesPanel(props: PanelProps) {
  const [prompt, setPrompt] = useState("");
  const [size, setSize] = useState("1024x1024");
  const [quality, setQuality] = useState("standard");
  const [images, setImages] = useState<Images>();
  const baseUrl = useBaseUrl();
  const body = { model: props.model.id, prompt: prompt === "" ? "A lighthouse at dusk" : prompt, size, quality };
  const call = async () => {
    // As base64, so that no image is stored on the gateway.
    const response = await callApiWithJson("/images/generations", { ...body, response_format: "b64_json" });
    setImages((await response.json()) as Images);
  };
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
      <CallCard
        label="Image"
        icon="image"
        action={["Generate image", "Generating…", "No image yet"]}
        isComplete={prompt.trim() !== ""}
        call={call}
        fields={
          <TextAreaField label="Prompt" rows={3} placeholder="A lighthouse at dusk" value={prompt} onText={setPrompt} />
        }
      >
        {images?.data.map(({ b64_json, revised_prompt }) => (
          <figure key={b64_json.slice(-80)} className="picture">
            <img src={`data:${detectImageType(b64_json)};base64,${b64_json}`} alt={revised_prompt ?? prompt} />
            {revised_prompt !== undefined && <figcaption className="faint">{revised_prompt}</figcaption>}
          </figure>
        ))}
      </CallCard>
    </Panel>
  );
}

/** Detected from the first bytes; the response does not say. */
function detectImageType(base64: string): string {
  if (base64.startsWith("/9j/")) return "image/jpeg";
  return base64.startsWith("UklGR") ? "image/webp" : "image/png";
}
