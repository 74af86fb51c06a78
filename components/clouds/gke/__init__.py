"""Google Kubernetes Engine (Standard mode): ``cloud`` declares its resources."""
