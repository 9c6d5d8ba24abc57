# Everything here works on a fresh machine with Python 3.10 or later, git and make.
# PYTHON=python3.12 make test   uses another Python for the environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BUILD := build/demo
DEMO_DB := $(BUILD)/larkmoor.db
PORT ?= 8001

# llm keeps its settings and logs here in the demo, so that your own are not touched.
DEMO_ENV := LLM_USER_PATH="$(CURDIR)/$(BUILD)/llm" LLM_GRAPHRAG_DB="$(CURDIR)/$(DEMO_DB)"

# $(call show,COMMAND): prints the command as a person would type it, then runs it.
show = @printf '\n$$ llm graphrag %s\n' '$(1)'; $(DEMO_ENV) $(BIN)/llm graphrag $(1)

.PHONY: help demo test test-browser test-model docs docs-check vendor clean

help:
	@echo "make demo          build the example knowledge base and look at it (SERVE=1 opens it in Datasette)"
	@echo "make test          ruff, mypy, pytest"
	@echo "make test-browser  the tests that drive a real Chromium"
	@echo "make test-model    the tests that need a language model"
	@echo "make docs          write docs/cli.md from --help"
	@echo "make vendor        fetch the JavaScript of the pictures again (npm)"
	@echo "make clean         remove environments and everything that was built"

$(VENV)/bin/pip:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), "Python 3.10 or later is needed, this is " + sys.version'
	$(PYTHON) -m venv $(VENV)

# A stamp for each set of dependencies: installed again only when the packaging files change.
$(VENV)/.demo: pyproject.toml setup.cfg | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[datasette]'
	@touch $@

$(VENV)/.test: pyproject.toml setup.cfg | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.browser: $(VENV)/.test
	$(BIN)/pip install --quiet --editable '.[test,browser]'
	@touch $@

demo: $(VENV)/.demo
	@rm -rf $(BUILD) && mkdir -p $(BUILD)/llm
	$(call show,init --template general)
	$(call show,add examples/vault)
	$(call show,search "silver coating")
	$(call show,ask "Who grinds the mirror of the Heron telescope?")
	$(call show,ask "In which town does the person who pays for the dome live?")
	$(call show,entity "Heron telescope")
	@echo
ifeq ($(SERVE),1)
	@echo "Datasette: http://127.0.0.1:$(PORT)/ (Ctrl-C ends it)"
	@$(DEMO_ENV) $(BIN)/datasette serve $(DEMO_DB) --host 127.0.0.1 --port $(PORT)
else
	@echo "Browse it in Datasette:  make demo SERVE=1"
	@echo "Ask it yourself:         $(BIN)/llm graphrag ask -d $(DEMO_DB) \"Which paper does the silvering recipe come from?\""
endif

test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

# pytest's exit code 5 means that no test carries the marker; pytest says so itself.
# CHROMIUM names the browser; Debian's is installed when it is missing and we may.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

test-browser: $(VENV)/.browser
	@if [ -z "$(CHROMIUM)" ]; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        apt-get update -q && apt-get install -q -y --no-install-recommends chromium; \
	    else \
	        echo "No Chromium found. Install it (apt-get install chromium) or set CHROMIUM=/path/to/it." >&2; exit 1; \
	    fi; \
	fi
	CHROMIUM="$${CHROMIUM:-$$(command -v chromium || command -v chromium-browser || command -v google-chrome)}" \
	    $(BIN)/pytest -m browser || [ $$? -eq 5 ]

# Any model that 'llm models' lists will do. A local one: serve its weights with something that speaks OpenAI's
# chat completions and obeys JSON schemas (llama-server, xllamacpp, Ollama, …), and put into
# extra-openai-models.yaml, in the folder that 'dirname "$(llm logs path)"' prints:
#   - model_id: small
#     model_name: small
#     api_base: "http://127.0.0.1:8080/v1"
#     supports_schema: true
# then: LLM_GRAPHRAG_TEST_MODEL=small make test-model
test-model: $(VENV)/.test
	@echo "These tests call the model that \$$LLM_GRAPHRAG_TEST_MODEL names (any model that 'llm models' lists)."
	@echo "They cost about 15,000 tokens; a local model works too, see the comment in the Makefile."
	@[ -n "$$LLM_GRAPHRAG_TEST_MODEL" ] || echo "It is not set: they will be skipped."
	$(BIN)/pytest -m model -n 0 -rs || [ $$? -eq 5 ]

docs: $(VENV)/.test
	$(BIN)/python docs/generate_cli.py

# d3-force and what it needs, as one file without a bundler: each part adds itself to the global d3.
D3 := d3-dispatch@3.0.2 d3-timer@3.0.2 d3-quadtree@3.0.2 d3-force@3.0.1
STATIC := datasette_graphrag/static

vendor:
	rm -rf build/d3 && mkdir -p build/d3
	cd build/d3 && for part in $(D3); do \
	    name=$${part%@*} && npm pack --silent $$part > pack.log && mkdir $$name && tar -xzf $$name-*.tgz -C $$name || exit 1; \
	    cat $$name/package/dist/$$name.min.js && echo; done > ../d3-force.js
	mv build/d3-force.js $(STATIC)/d3-force.js
	cp build/d3/d3-force/package/LICENSE $(STATIC)/d3-force.LICENSE.txt

docs-check: $(VENV)/.test
	$(BIN)/python docs/generate_cli.py --check

clean:
	rm -rf .venv .venv-datasette1 build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
