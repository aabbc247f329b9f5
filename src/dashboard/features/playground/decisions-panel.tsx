import { useState } from "react";
import { Button } from "../../kit/button.tsx";
import { SelectField, TextAreaField, TextField } from "../../kit/field.tsx";
import { CallCard, ModelField, Panel, type PanelProps, toCurl, toLines } from "./panel.tsx";
import { callApiWithJson } from "./playground-key.ts";
import { formatScore, type Score, ScoreList } from "./score-list.tsx";

/** A question as it was typed. */
interface Question {
  readonly id: number;
  readonly type: "predicate" | "choice" | "score";
  readonly text: string;
  /** The choices or levels, one per line. */
  readonly options: string;
}

interface Probability {
  readonly value: string | number | boolean;
  readonly label?: string;
  readonly probability: number;
}

type Answer =
  | { readonly type: "predicate"; readonly probability: number }
  | { readonly type: "choice"; readonly choice: string | boolean; readonly probabilities: readonly Probability[] }
  | { readonly type: "score"; readonly score: number; readonly probabilities: readonly Probability[] }
  | { readonly type: "refusal" };

const types = [
  ["predicate", "Yes or no"],
  ["choice", "One of several choices"],
  ["score", "A level of a scale"],
] as const;
const example = { input: "The parcel came two weeks late.", question: "Is this a complaint?" };
const firstQuestion: Question = { id: 1, type: "predicate", text: "", options: "" };

/** Asks a chat model typed questions about a text, and shows the probability of each answer. */
export function DecisionsPanel(props: PanelProps) {
  const [input, setInput] = useState("");
  const [questions, setQuestions] = useState<readonly Question[]>([firstQuestion]);
  const [answered, setAnswered] = useState<readonly (readonly [title: string, Answer])[]>();
  const body = {
    model: props.model.id,
    input: input.trim() === "" ? example.input : input,
    questions: questions.map(toRequestQuestion),
  };
  const call = async () => {
    const { answers } = (await (await callApiWithJson("/decisions", body)).json()) as { answers: readonly Answer[] };
    setAnswered(answers.map((answer, index) => [questions[index]?.text ?? "", answer]));
  };
  const change = (next: Question) => setQuestions(questions.map((each) => (each.id === next.id ? next : each)));
  const add = () => setQuestions([...questions, { ...firstQuestion, id: (questions.at(-1)?.id ?? 0) + 1 }]);
  return (
    <Panel curl={(baseUrl) => toCurl(`${baseUrl}/decisions`, body)} settings={<ModelField {...props} />}>
      <CallCard
        label="Decisions"
        icon="check"
        action={["Get answers", "Deciding…", "No answers yet"]}
        isComplete={input.trim() !== "" && questions.every(isComplete)}
        call={call}
        fields={
          <>
            <TextAreaField label="Input" rows={3} placeholder={example.input} value={input} onText={setInput} />
            {questions.map((question, index) => (
              <QuestionFields
                key={question.id}
                title={`Question ${index + 1}`}
                question={question}
                onChange={change}
                onRemove={
                  questions.length === 1
                    ? undefined
                    : () => setQuestions(questions.filter(({ id }) => id !== question.id))
                }
              />
            ))}
            <div>
              <Button look="small" icon="plus" onClick={add}>
                Add question
              </Button>
            </div>
          </>
        }
      >
        {answered && (
          <div className="stack" aria-live="polite">
            {answered.map(([title, answer], index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two questions may have the same text
              <AnswerView key={index} title={title} answer={answer} />
            ))}
          </div>
        )}
      </CallCard>
    </Panel>
  );
}

function QuestionFields({
  title,
  question,
  onChange,
  onRemove,
}: {
  title: string;
  question: Question;
  onChange: (next: Question) => void;
  onRemove: (() => void) | undefined;
}) {
  const { type, text, options } = question;
  const isRepeated = new Set(toLines(options)).size < toLines(options).length;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would draw its legend in the border
    <div className="question stack" role="group" aria-label={title}>
      <TextField
        label={title}
        placeholder={example.question}
        value={text}
        onText={(next) => onChange({ ...question, text: next })}
      />
      <SelectField
        label="Answer"
        options={types}
        value={type}
        onText={(next) => onChange({ ...question, type: next })}
      />
      {type !== "predicate" && (
        <TextAreaField
          label={type === "choice" ? "Choices" : "Levels"}
          rows={3}
          hint={type === "choice" ? "One per line, at least two" : "One per line from the lowest, at least two"}
          error={isRepeated ? "Each line must be different" : undefined}
          value={options}
          onText={(next) => onChange({ ...question, options: next })}
        />
      )}
      {onRemove !== undefined && (
        <div>
          <Button look="small" icon="trash" aria-label={`Remove ${title.toLowerCase()}`} onClick={onRemove}>
            Remove
          </Button>
        </div>
      )}
    </div>
  );
}

function AnswerView({ title, answer }: { title: string; answer: Answer }) {
  return (
    <section className="stack stack-tight" aria-label={title}>
      <h2 className="answer-title">{title}</h2>
      {answer.type === "refusal" && <p className="faint">The model refused to answer.</p>}
      {answer.type === "score" && (
        <p className="faint">
          Score {formatScore(answer.score)} of {answer.probabilities.length - 1}
        </p>
      )}
      {answer.type !== "refusal" && <ScoreList label={`Probabilities: ${title}`} scores={toScores(answer)} />}
    </section>
  );
}

function toScores(answer: Exclude<Answer, { type: "refusal" }>): Score[] {
  if (answer.type === "predicate") return [{ key: "yes", name: "Yes", score: answer.probability }];
  return answer.probabilities.map(({ value, label, probability }) => ({
    key: String(value),
    name: label ?? String(value),
    score: probability,
    ...(answer.type === "choice" && value === answer.choice && { mark: { text: "chosen", tone: "good" as const } }),
  }));
}

function isComplete({ type, text, options }: Question): boolean {
  const lines = toLines(options);
  return text.trim() !== "" && (type === "predicate" || (lines.length > 1 && new Set(lines).size === lines.length));
}

function toRequestQuestion({ type, text, options }: Question) {
  const instructions = text.trim() === "" ? example.question : text;
  if (type === "choice") return { type, instructions, choices: toLines(options).map((value) => ({ value })) };
  if (type === "score") return { type, instructions, levels: toLines(options).map((label) => ({ label })) };
  return { type, instructions };
}
