"""Google Kubernetes Engine (Standard mode): ``limits`` says what it cannot do, ``cloud`` makes its resources."""
