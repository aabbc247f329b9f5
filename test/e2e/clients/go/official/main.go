// What OpenAI's own client for Go makes of the gateway: prints one JSON object of findings.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"clients/found"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const model = "famA-4o-mini"

var ctx = context.Background()

func ask(content string) openai.ChatCompletionNewParams {
	messages := []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)}
	return openai.ChatCompletionNewParams{Model: model, Messages: messages}
}

func say(content string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(content)},
	}
}

func main() {
	os.Setenv("OPENAI_BASE_URL", os.Args[1])
	os.Setenv("OPENAI_API_KEY", os.Args[2])
	client := openai.NewClient()
	rows := found.Rows{}

	rows.Try("chat", func() (any, error) {
		answer, err := client.Chat.Completions.New(ctx, ask("Say hello to Ada"))
		return err == nil && strings.Contains(answer.Choices[0].Message.Content, "Ada") && answer.Usage.TotalTokens > 0, err
	})
	rows.Try("stream", func() (any, error) {
		text, err := read(client, ask("Say hello to Ada"))
		return strings.Contains(text, "Ada"), err
	})
	rows.Try("tools", func() (any, error) { return useTool(client) })
	rows.Try("responses", func() (any, error) {
		answer, err := client.Responses.New(ctx, say("Say hello to Ada"))
		if err != nil {
			return nil, err
		}
		stream := client.Responses.NewStreaming(ctx, say("Say hello to Ada"))
		text, last := "", ""
		for stream.Next() {
			event := stream.Current()
			last = event.Type
			if event.Type == "response.output_text.delta" {
				text += event.Delta
			}
		}
		return []any{strings.Contains(answer.OutputText(), "Ada"), text == answer.OutputText(), last}, stream.Err()
	})
	rows.Try("completions", func() (any, error) {
		prompt := openai.CompletionNewParamsPromptUnion{OfString: openai.String("Say hello to Ada")}
		answer, err := client.Completions.New(ctx, openai.CompletionNewParams{Model: model, Prompt: prompt})
		return err == nil && strings.Contains(answer.Choices[0].Text, "Ada"), err
	})
	rows.Try("embeddings", func() (any, error) {
		input := openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}}
		answer, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "text-embedding-3-small", Input: input})
		if err != nil {
			return nil, err
		}
		return []int{len(answer.Data), len(answer.Data[0].Embedding)}, nil
	})
	rows.Try("image", func() (any, error) {
		answer, err := client.Images.Generate(ctx, openai.ImageGenerateParams{
			Model:          "famB-3-pro-image-preview",
			Prompt:         "A kite",
			ResponseFormat: openai.ImageGenerateParamsResponseFormatB64JSON,
		})
		return err == nil && strings.HasPrefix(answer.Data[0].B64JSON, "iVBOR"), err
	})
	rows.Try("transcription", func() (any, error) {
		file, err := os.Open(os.Args[3])
		if err != nil {
			return nil, err
		}
		defer file.Close()
		answer, err := client.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{Model: "famW-large-v3", File: file})
		return err == nil && answer.Text != "", err
	})
	rows.Try("speech", func() (any, error) {
		voice := openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String("alloy")}
		answer, err := client.Audio.Speech.New(ctx, openai.AudioSpeechNewParams{
			Model: "famT/v1-english",
			Input: "Hello",
			Voice: voice,
		})
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		head := make([]byte, 4)
		_, err = io.ReadFull(answer.Body, head)
		return string(head), err
	})
	rows.Try("models", func() (any, error) {
		list, count := client.Models.ListAutoPaging(ctx), 0
		for list.Next() {
			count++
		}
		one, err := client.Models.Get(ctx, "famA/oss-20b")
		if err != nil {
			return nil, err
		}
		return []any{count > 50, one.ID}, list.Err()
	})
	rows.Try("errors", func() (any, error) {
		stranger := openai.NewClient(option.WithAPIKey("sk-wrong"))
		_, wrongKey := stranger.Models.List(ctx)
		_, slowDown := client.Chat.Completions.New(ctx, ask("[[fault:status=429]]"), option.WithMaxRetries(0))
		_, broken := read(client, ask("one two three four [[fault:error=3]]"))
		return []any{status(wrongKey), status(slowDown), broken != nil}, nil
	})
	rows.Print()
}

func status(err error) int {
	var failure *openai.Error
	if errors.As(err, &failure) {
		return failure.StatusCode
	}
	return 0
}

func read(client openai.Client, request openai.ChatCompletionNewParams) (string, error) {
	stream := client.Chat.Completions.NewStreaming(ctx, request)
	whole := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		whole.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return "", err
	}
	return whole.Choices[0].Message.Content, nil
}

func useTool(client openai.Client) (any, error) {
	parameters := shared.FunctionParameters{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "number"}}}
	request := ask("Use add_numbers for 5 and 7")
	request.Tools = []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "add_numbers", Parameters: parameters}),
	}
	first, err := client.Chat.Completions.New(ctx, request)
	if err != nil {
		return nil, err
	}
	message := first.Choices[0].Message
	call := message.ToolCalls[0]
	request.Messages = append(request.Messages, message.ToParam(), openai.ToolMessage("twelve", call.ID))
	second, err := client.Chat.Completions.New(ctx, request)
	if err != nil {
		return nil, err
	}
	return []any{call.Function.Name, strings.Contains(second.Choices[0].Message.Content, "twelve")}, nil
}
